import { request } from 'node:https';

const MAX_BYTES = 1_048_576;

/**
 * A GET at this machine's own listener. The certificate is not checked: it may be for another name, and nothing secret is
 * sent. Rejects with the network's error.
 */
export async function fetchUnverified(url: string, signal: AbortSignal): Promise<Response> {
  if (!url.startsWith('https:')) return fetch(url, { signal, redirect: 'error' });
  return new Promise((resolve, reject) => {
    const options = { signal, agent: false, rejectUnauthorized: false };
    request(url, options, async (answer) => {
      try {
        const chunks: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of answer as AsyncIterable<Buffer>) {
          bytes += chunk.byteLength;
          if (bytes > MAX_BYTES) throw new Error('the answer is too large');
          chunks.push(chunk);
        }
        resolve(new Response(Buffer.concat(chunks), { status: answer.statusCode ?? 0 }));
      } catch (error) {
        reject(error);
      }
    })
      .on('error', reject)
      .end();
  });
}
