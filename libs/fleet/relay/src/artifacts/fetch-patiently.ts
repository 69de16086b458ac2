import type { A2AClient, PeerEndpoint } from '@hermes-fleet/a2a';
import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import type { Clock, RunContext } from '@hermes-fleet/protocol/ports';

const FILE_TIMEOUT_MS = 30_000;
const FILE_TRIES = 3;
const PAUSE = { firstMs: 200, longestMs: 5_000 };

export interface FetchOptions {
  readonly context: Pick<RunContext, 'signal'>;
  readonly client: Pick<A2AClient, 'file'>;
  readonly endpoint: PeerEndpoint;
  readonly traceparent: string | undefined;
  readonly clock: Pick<Clock, 'monotonic' | 'now' | 'sleep'>;
  readonly random: () => number;
  /** How long a peer that is away is waited for when its task has ended, ms. */
  readonly peerDownAfterMs: number;
  /** The task's deadline, ms since the epoch: at most half of the time to it is waited, because the result counts more. */
  readonly deadlineAt: number | undefined;
}

export type Patience = ReturnType<typeof createPatience>;

/** How long a peer whose task has ended is still waited for; each file that it serves begins the time anew. */
export function createPatience({ clock, peerDownAfterMs, deadlineAt }: FetchOptions) {
  let until = 0;
  const renew = (): void => {
    until = clock.monotonic() + Math.min(peerDownAfterMs, ((deadlineAt ?? Infinity) - clock.now()) / 2);
  };
  renew();
  return { leftMs: (): number => until - clock.monotonic(), renew };
}

/** The files of one artifact that are fetched while it is compared and stored. */
export interface Fetching {
  readonly patience: Patience | undefined;
  /** The most that further files may have together, in bytes: all of them are in memory until the artifact is stored. */
  leftBytes: number;
}

/**
 * Reads a file of a peer, as base64; `leftBytes` becomes less by its size, and ARTIFACT_TOO_LARGE is thrown beyond it. While
 * the peer does not serve it, it is asked a few times, or as long as there is patience. Throws the last error, which is
 * retryable if a later call may find the file.
 */
export async function fetchPatiently(
  options: FetchOptions,
  url: string,
  fetching: Fetching,
): Promise<string> {
  const { client, endpoint, context, traceparent, clock, random } = options;
  const { signal } = context;
  const { patience, leftBytes: maxBytes } = fetching;
  for (let failures = 1; ; failures += 1) {
    const timeoutMs = Math.max(1, Math.min(FILE_TIMEOUT_MS, patience?.leftMs() ?? FILE_TIMEOUT_MS));
    try {
      const file = await client.file(endpoint, url, { timeoutMs, signal, traceparent, maxBytes });
      patience?.renew();
      fetching.leftBytes -= file.length;
      return file.toString('base64');
    } catch (error) {
      signal.throwIfAborted();
      const isOver = patience ? patience.leftMs() <= 0 : failures === FILE_TRIES;
      if (!(error instanceof FleetError) || !error.retryable || isOver) throw error;
      await clock.sleep(backoffMs(failures, { ...PAUSE, random }), signal);
    }
  }
}
