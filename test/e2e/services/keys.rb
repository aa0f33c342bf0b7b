# A service that says which `sid` and `api_key` Rack reads. Rack before 3 parts a query at semicolons, too.
require "json"
require "rack"
require "socket"
require "stringio"

server = TCPServer.new("127.0.0.1", 0)
puts server.addr[1]
STDOUT.flush

loop do
  client = server.accept
  method, target = client.gets.to_s.split(" ")
  fields = {}
  while (line = client.gets) && line != "\r\n"
    name, value = line.chomp.split(": ", 2)
    fields[name.downcase] = value
  end
  env = { "REQUEST_METHOD" => method, "QUERY_STRING" => target.to_s.split("?", 2)[1].to_s, "rack.input" => StringIO.new }
  env["HTTP_COOKIE"] = fields["cookie"] if fields["cookie"]
  request = Rack::Request.new(env)
  query = begin
    request.GET["api_key"]
  rescue StandardError
    nil
  end
  query = query.first if query.is_a?(Array)
  body = JSON.generate({ sid: request.cookies["sid"], api_key: query })
  client.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
  client.close
end
