import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.BlockingHandler;
import io.undertow.util.Headers;
import io.undertow.util.HttpString;
import io.undertow.websockets.core.AbstractReceiveListener;
import io.undertow.websockets.core.BufferedTextMessage;
import io.undertow.websockets.core.WebSocketChannel;
import io.undertow.websockets.core.WebSockets;
import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.websocket.OnMessage;
import jakarta.websocket.server.ServerContainer;
import jakarta.websocket.server.ServerEndpoint;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;

/** The service of the zoo, as a servlet and for Undertow. Arguments: tomcat, jetty or undertow, and the port. Tomcat and Undertow have a WebSocket. */
public class Service extends HttpServlet {
  private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz";

  @Override
  protected void service(HttpServletRequest req, HttpServletResponse res) throws IOException {
    res.setContentType("text/plain");
    switch (req.getRequestURI()) {
      case "/echo" -> plain(res, "len=" + req.getInputStream().transferTo(OutputStream.nullOutputStream()));
      case "/early" -> {
        res.setStatus(401);
        plain(res, "early");
      }
      case "/range" -> range(req.getHeader("Range"), res);
      case "/events" -> events(res);
      default -> plain(res, "hello");
    }
  }

  private static void plain(HttpServletResponse res, String text) throws IOException {
    res.setContentLength(text.length());
    res.getOutputStream().print(text);
  }

  private static void range(String asked, HttpServletResponse res) throws IOException {
    String[] ends = asked.substring("bytes=".length()).split("-");
    res.setStatus(206);
    res.setHeader("Content-Range", "bytes " + ends[0] + "-" + ends[1] + "/26");
    plain(res, LETTERS.substring(Integer.parseInt(ends[0]), Integer.parseInt(ends[1]) + 1));
  }

  private static void events(HttpServletResponse res) throws IOException {
    res.setContentType("text/event-stream");
    for (int n = 1; n <= 3; n++) {
      res.getOutputStream().print("data: " + n + "\n\n");
      res.flushBuffer();
      try {
        Thread.sleep(10);
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }
  }

  @ServerEndpoint("/ws")
  public static class Echo {
    @OnMessage
    public String echo(String text) {
      return "echo " + text;
    }
  }

  public static class EchoListener implements ServletContextListener {
    @Override
    public void contextInitialized(ServletContextEvent event) {
      var container = (ServerContainer) event.getServletContext().getAttribute(ServerContainer.class.getName());
      try {
        container.addEndpoint(Echo.class);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[1]);
    switch (args[0]) {
      case "tomcat" -> tomcat(port);
      case "jetty" -> jetty(port);
      default -> undertow(port);
    }
  }

  private static void tomcat(int port) throws Exception {
    var folder = Files.createTempDirectory("zoo-tomcat").toString();
    var tomcat = new org.apache.catalina.startup.Tomcat();
    tomcat.setBaseDir(folder);
    var connector = new org.apache.catalina.connector.Connector();
    connector.setPort(port);
    connector.setProperty("address", "127.0.0.1");
    tomcat.setConnector(connector);
    var context = tomcat.addContext("", folder);
    context.addServletContainerInitializer(new org.apache.tomcat.websocket.server.WsSci(), null);
    context.addApplicationListener(EchoListener.class.getName());
    org.apache.catalina.startup.Tomcat.addServlet(context, "service", new Service());
    context.addServletMappingDecoded("/*", "service");
    tomcat.start();
    tomcat.getServer().await();
  }

  private static void jetty(int port) throws Exception {
    var server = new org.eclipse.jetty.server.Server(new InetSocketAddress("127.0.0.1", port));
    var context = new org.eclipse.jetty.ee10.servlet.ServletContextHandler("/");
    context.addServlet(Service.class, "/*");
    server.setHandler(context);
    server.start();
    server.join();
  }

  private static void undertow(int port) throws Exception {
    var sockets = Handlers.websocket((exchange, channel) -> {
      channel.getReceiveSetter().set(new AbstractReceiveListener() {
        @Override
        protected void onFullTextMessage(WebSocketChannel to, BufferedTextMessage message) {
          WebSockets.sendText("echo " + message.getData(), to, null);
        }
      });
      channel.resumeReceives();
    });
    var handler = Handlers.path(new BlockingHandler(Service::serve)).addPrefixPath("/ws", sockets);
    Undertow.builder().setServerOption(UndertowOptions.MAX_ENTITY_SIZE, -1L).addHttpListener(port, "127.0.0.1").setHandler(handler).build().start();
  }

  /** As the servlet does, which Undertow alone has none of. */
  private static void serve(HttpServerExchange exchange) throws Exception {
    var headers = exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "text/plain");
    var out = exchange.getOutputStream();
    switch (exchange.getRequestPath()) {
      case "/echo" -> out.write(("len=" + exchange.getInputStream().transferTo(OutputStream.nullOutputStream())).getBytes());
      case "/early" -> {
        exchange.setStatusCode(401);
        out.write("early".getBytes());
      }
      case "/range" -> {
        String[] ends = exchange.getRequestHeaders().getFirst(Headers.RANGE).substring("bytes=".length()).split("-");
        exchange.setStatusCode(206);
        headers.put(new HttpString("Content-Range"), "bytes " + ends[0] + "-" + ends[1] + "/26");
        out.write(LETTERS.substring(Integer.parseInt(ends[0]), Integer.parseInt(ends[1]) + 1).getBytes());
      }
      case "/events" -> {
        headers.put(Headers.CONTENT_TYPE, "text/event-stream");
        for (int n = 1; n <= 3; n++) {
          out.write(("data: " + n + "\n\n").getBytes());
          out.flush();
          Thread.sleep(10);
        }
      }
      default -> out.write("hello".getBytes());
    }
    out.close();
  }
}
