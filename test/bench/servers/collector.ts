import { createServer } from 'node:http';

// Takes exports of OTLP over HTTP, and keeps nothing of them but their number of spans, which GET answers.

const SPAN = '"startTimeUnixNano"';
let spans = 0;

const server = createServer(async (request, response) => {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  spans += text.split(SPAN).length - 1;
  const body = request.method === 'GET' ? JSON.stringify({ spans }) : '{}';
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
});
process.once('SIGTERM', () => process.exit());
server.listen(Number(process.env.PORT), '127.0.0.1');
