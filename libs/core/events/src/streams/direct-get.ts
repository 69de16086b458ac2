import { type Msg, type NatsConnection, NatsError } from 'nats';
import { streamOf } from './subjects.ts';

const READ_TIMEOUT_MS = 3_000;

/** Reads the last stored message of a subject or wildcard; undefined when there is none. */
export async function directGet(nc: NatsConnection, subject: string): Promise<Msg | undefined> {
  const stream = streamOf(subject);
  const message = await nc
    .request(`$JS.API.DIRECT.GET.${stream}.${subject}`, '', { timeout: READ_TIMEOUT_MS })
    .catch((error: unknown) => {
      const noAnswer = error instanceof NatsError && (error.code === 'TIMEOUT' || error.code === '503');
      // The server does not answer at all for a missing stream.
      if (!noAnswer) throw error;
      throw new Error(`the stream ${stream} does not answer: is it set up, on a server with JetStream?`, {
        cause: error,
      });
    });
  const { headers } = message;
  if (headers?.code === 404) return undefined;
  if (headers !== undefined && !headers.hasError) return message;
  const answer = headers ? `${headers.code} ${headers.description}` : 'an unknown answer';
  throw new Error(`reading back the last event of ${subject} failed: ${answer}`);
}
