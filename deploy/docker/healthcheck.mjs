// Healthy when HEALTH_PATH of this container's service, /ready by default, answers 2xx. HEALTH_PORT is the port of the
// service, which serves https where its fleet.yaml says so. The certificate is not checked: it is not for 127.0.0.1.
import { request } from 'node:https';

const url = `http://127.0.0.1:${process.env.HEALTH_PORT}${process.env.HEALTH_PATH ?? '/ready'}`;

function overTls() {
  return new Promise((resolve, reject) => {
    const options = { rejectUnauthorized: false, signal: AbortSignal.timeout(5000) };
    request(url.replace('http:', 'https:'), options, async (answer) => {
      let text = '';
      for await (const chunk of answer.setEncoding('utf8')) text += chunk;
      resolve({ ok: answer.statusCode >= 200 && answer.statusCode < 300, text });
    })
      .on('error', reject)
      .end();
  });
}

async function ready() {
  const reply = await fetch(url, { signal: AbortSignal.timeout(5000) });
  const text = await reply.text();
  return reply.status === 400 && text.includes('TLS_REQUIRED') ? overTls() : { ok: reply.ok, text };
}

try {
  const { ok, text } = await ready();
  process.stdout.write(text.slice(0, 1000));
  process.exitCode = ok ? 0 : 1;
} catch (error) {
  process.stdout.write(`${url}: ${error.cause?.code ?? error.message}`);
  process.exitCode = 1;
}
