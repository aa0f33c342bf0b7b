# The service of the zoo, for Rack.
LETTERS = [*'a'..'z'].join

def plain(status, body, more = {})
  [status, { 'content-type' => 'text/plain', 'content-length' => body.bytesize.to_s }.merge(more), [body]]
end

def events
  Enumerator.new do |out|
    3.times do |n|
      out << "data: #{n + 1}\n\n"
      sleep 0.01
    end
  end
end

run(lambda do |env|
  case env['PATH_INFO']
  when '/echo' then plain(200, "len=#{env['rack.input'].read.bytesize}")
  when '/early' then plain(401, 'early')
  when '/range'
    first, last = env['HTTP_RANGE'].delete_prefix('bytes=').split('-').map(&:to_i)
    plain(206, LETTERS[first..last], 'content-range' => "bytes #{first}-#{last}/26")
  when '/events' then [200, { 'content-type' => 'text/event-stream' }, events]
  else plain(200, env['REQUEST_METHOD'] == 'HEAD' ? '' : 'hello')
  end
end)
