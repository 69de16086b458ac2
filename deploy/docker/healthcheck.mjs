// Healthy when HEALTH_PATH of this container's service, /ready by default, answers 2xx over https on HEALTH_PORT. Prints the
// answer. The certificate is not checked: it is not for 127.0.0.1.
import { request } from 'node:https';

const PRINTED = 1000;
const url = `https://127.0.0.1:${process.env.HEALTH_PORT}${process.env.HEALTH_PATH ?? '/ready'}`;

function ask() {
  return new Promise((resolve, reject) => {
    const options = { rejectUnauthorized: false, signal: AbortSignal.timeout(10_000) };
    request(url, options, resolve).on('error', reject).end();
  });
}

async function startOf(answer) {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk;
    if (text.length >= PRINTED) break;
  }
  return text.slice(0, PRINTED);
}

try {
  const answer = await ask();
  process.exitCode = answer.statusCode >= 200 && answer.statusCode < 300 ? 0 : 1;
  process.stdout.write(`${answer.statusCode} ${await startOf(answer)}`);
} catch (error) {
  process.exitCode = 1;
  process.stdout.write(`${url}: ${error.code ?? error.message}`);
}
