import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.RequestBody;
import okhttp3.WebSocketListener;
import okio.BufferedSink;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.http.io.entity.InputStreamEntity;

/** The clients of Java. Argument: the library. Each line of the input is `SHAPE URL`, and gets one line of JSON. */
public class Client {
  record Said(int status, String body) {}

  /** What a shape asks for. Of a body that is `chunked` no client may know the length. */
  record Asked(String method, String path, byte[] body, boolean chunked, String range) {
    static Asked of(String shape) {
      return switch (shape) {
        case "chunked" -> new Asked("POST", "/echo", "hello".getBytes(), true, null);
        case "large" -> new Asked("POST", "/echo", new byte[3_000_000], false, null);
        case "early" -> new Asked("POST", "/early", new byte[1_000_000], false, null);
        case "head" -> new Asked("HEAD", "/hello", null, false, null);
        case "range" -> new Asked("GET", "/range", null, false, "bytes=10-19");
        case "sse" -> new Asked("GET", "/events", null, false, null);
        default -> new Asked("GET", "/hello", null, false, null);
      };
    }
  }

  interface Library {
    Said ask(Asked asked, String url) throws Exception;

    default Said chat(String url) throws Exception {
      throw new UnsupportedOperationException("no WebSocket");
    }
  }

  public static void main(String[] args) throws Exception {
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] parts = line.split(" ");
      System.out.println(say(args[0], parts[0], parts[1]));
    }
    System.exit(0);
  }

  private static String say(String name, String shape, String url) {
    try {
      Library library = library(name);
      Said said = shape.equals("ws") ? library.chat(url.replace("http", "ws") + "/ws") : null;
      for (int n = shape.equals("ws") ? 0 : shape.equals("keepalive") ? 5 : 1; n > 0; n--) said = library.ask(Asked.of(shape), url);
      String body = said.body() == null ? "" : said.body().substring(0, Math.min(200, said.body().length()));
      return "{\"status\":" + said.status() + ",\"body\":" + quoted(body) + "}";
    } catch (Exception e) {
      return "{\"error\":" + quoted(String.valueOf(e)) + "}";
    }
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\r", "\\r") + '"';
  }

  private static Library library(String name) {
    return switch (name) {
      case "jdk" -> new Jdk();
      case "urlconnection" -> Client::urlConnection;
      case "httpclient5" -> new Apache();
      default -> new OkHttp();
    };
  }

  static class Jdk implements Library {
    private final HttpClient client = HttpClient.newHttpClient();

    @Override
    public Said ask(Asked asked, String url) throws Exception {
      var request = HttpRequest.newBuilder(URI.create(url + asked.path())).method(asked.method(), bodyOf(asked));
      if (asked.range() != null) request.header("Range", asked.range());
      var response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
      return new Said(response.statusCode(), response.body());
    }

    private static HttpRequest.BodyPublisher bodyOf(Asked asked) {
      if (asked.body() == null) return HttpRequest.BodyPublishers.noBody();
      if (!asked.chunked()) return HttpRequest.BodyPublishers.ofByteArray(asked.body());
      return HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(asked.body()));
    }

    @Override
    public Said chat(String url) throws Exception {
      var echo = new CompletableFuture<String>();
      var listener = new WebSocket.Listener() {
        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence text, boolean last) {
          echo.complete(text.toString());
          return null;
        }
      };
      var socket = client.newWebSocketBuilder().buildAsync(URI.create(url), listener).get(30, TimeUnit.SECONDS);
      socket.sendText("hi", true).get(30, TimeUnit.SECONDS);
      var said = new Said(101, echo.get(30, TimeUnit.SECONDS));
      socket.abort();
      return said;
    }
  }

  static Said urlConnection(Asked asked, String url) throws Exception {
    var connection = (HttpURLConnection) URI.create(url + asked.path()).toURL().openConnection();
    connection.setRequestMethod(asked.method());
    if (asked.range() != null) connection.setRequestProperty("Range", asked.range());
    if (asked.body() != null) {
      connection.setDoOutput(true);
      if (asked.chunked()) connection.setChunkedStreamingMode(0);
      try (var out = connection.getOutputStream()) {
        out.write(asked.body());
      }
    }
    int status = connection.getResponseCode();
    InputStream in = status >= 400 ? connection.getErrorStream() : connection.getInputStream();
    return new Said(status, in == null ? "" : new String(in.readAllBytes(), StandardCharsets.UTF_8));
  }

  static class Apache implements Library {
    private final org.apache.hc.client5.http.impl.classic.CloseableHttpClient client = HttpClients.createDefault();

    @Override
    public Said ask(Asked asked, String url) throws Exception {
      var request = new HttpUriRequestBase(asked.method(), URI.create(url + asked.path()));
      if (asked.range() != null) request.setHeader("Range", asked.range());
      if (asked.chunked()) {
        request.setEntity(new InputStreamEntity(new ByteArrayInputStream(asked.body()), ContentType.TEXT_PLAIN));
      } else if (asked.body() != null) request.setEntity(new ByteArrayEntity(asked.body(), ContentType.TEXT_PLAIN));
      return client.execute(request, response -> {
        var entity = response.getEntity();
        return new Said(response.getCode(), entity == null ? "" : EntityUtils.toString(entity));
      });
    }
  }

  static class OkHttp implements Library {
    private final OkHttpClient client = new OkHttpClient();

    @Override
    public Said ask(Asked asked, String url) throws Exception {
      var request = new okhttp3.Request.Builder().url(url + asked.path()).method(asked.method(), bodyOf(asked));
      if (asked.range() != null) request.header("Range", asked.range());
      try (var response = client.newCall(request.build()).execute()) {
        return new Said(response.code(), response.body().string());
      }
    }

    private static RequestBody bodyOf(Asked asked) {
      if (asked.body() == null) return null;
      if (!asked.chunked()) return RequestBody.create(asked.body(), MediaType.get("text/plain"));
      return new RequestBody() {
        @Override
        public MediaType contentType() {
          return MediaType.get("text/plain");
        }

        @Override
        public void writeTo(BufferedSink sink) throws java.io.IOException {
          for (byte b : asked.body()) sink.write(Arrays.copyOf(new byte[] {b}, 1));
        }
      };
    }

    @Override
    public Said chat(String url) throws Exception {
      var echo = new CompletableFuture<String>();
      var socket = client.newWebSocket(new okhttp3.Request.Builder().url(url).build(), new WebSocketListener() {
        @Override
        public void onOpen(okhttp3.WebSocket socket, okhttp3.Response response) {
          socket.send("hi");
        }

        @Override
        public void onMessage(okhttp3.WebSocket socket, String text) {
          echo.complete(text);
        }

        @Override
        public void onFailure(okhttp3.WebSocket socket, Throwable error, okhttp3.Response response) {
          echo.completeExceptionally(error);
        }
      });
      var said = new Said(101, echo.get(30, TimeUnit.SECONDS));
      socket.cancel();
      return said;
    }
  }
}
