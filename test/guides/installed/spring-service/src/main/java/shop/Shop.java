package shop;

import jakarta.servlet.http.HttpServletRequest;
import java.net.URI;
import java.util.Collections;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.servlet.support.ServletUriComponentsBuilder;

/** A service in Spring Boot behind the gateway. */
@SpringBootApplication
@RestController
public class Shop {
  public static void main(String[] args) {
    SpringApplication.run(Shop.class, args);
  }

  @GetMapping("/v1/items")
  Map<String, Object> items(HttpServletRequest request) {
    return Map.of(
        "user", String.valueOf(request.getHeader("X-Tollgate-User")),
        "url", ServletUriComponentsBuilder.fromCurrentRequest().toUriString(),
        "address", request.getRemoteAddr(),
        "fields", Collections.list(request.getHeaderNames()));
  }

  @GetMapping("/v1/old")
  ResponseEntity<Void> old() {
    URI items = ServletUriComponentsBuilder.fromCurrentContextPath().path("/v1/items").build().toUri();
    return ResponseEntity.status(301).location(items).build();
  }

  @PostMapping("/v1/charge")
  String charge() {
    return "charged";
  }
}
