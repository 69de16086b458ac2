import type { BusConnection } from '../connection/connection.ts';
import { openConnection, reasonOf } from '../connection/connection.ts';
import { streamOf } from './subjects.ts';

/** What a user sees of a stream that it reads, or why it sees nothing. */
export type ReadableStream =
  | { readonly stream: string; readonly events: number; readonly oldest: string | undefined }
  | { readonly stream: string; readonly problem: string };

/**
 * Asks for the state of the streams of these filters; it makes no consumer, so it may run beside a reader of the same user.
 * Rejects when no server can be reached or the login is refused.
 */
export async function readStreams(
  connection: BusConnection,
  filters: readonly string[],
  timeoutMs: number,
): Promise<readonly ReadableStream[]> {
  await using nc = await openConnection(connection, AbortSignal.timeout(timeoutMs));
  const jsm = await nc.jetstreamManager({ checkAPI: false, timeout: timeoutMs });
  return await Promise.all(
    [...new Set(filters.map(streamOf))].map(async (stream) => {
      try {
        const { state } = await jsm.streams.info(stream);
        const oldest = state.messages === 0 ? undefined : String(state.first_ts);
        return { stream, events: state.messages, oldest };
      } catch (error) {
        return { stream, problem: reasonOf(error) };
      }
    }),
  );
}
