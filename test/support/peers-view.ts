import { until } from './fleet.ts';
import type { Target } from './rpc.ts';

/** A peer as `GET /fleet/peers` shows it, as far as tests look at it. */
export interface SeenPeer {
  readonly name: string;
  readonly standing: string;
  readonly state: string;
  readonly endpoint: string | null;
  readonly announce: {
    readonly ready: boolean;
    readonly active_tasks: number;
    readonly repo_state: { readonly clean: boolean; readonly base_clean: boolean | null };
    readonly mcp_health: Readonly<Record<string, string>>;
  } | null;
}

/** The peers as a profile sees them now. */
export async function seenPeers({ url, token }: Target): Promise<readonly SeenPeer[]> {
  const reply = await fetch(`${url}/fleet/peers`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(20_000),
  });
  if (reply.status !== 200) throw new Error(`GET /fleet/peers answers ${reply.status}`);
  return ((await reply.json()) as { peers: SeenPeer[] }).peers;
}

/** Waits until a profile sees a peer like this. */
export async function untilSeen(
  target: Target,
  name: string,
  fits: (peer: SeenPeer) => boolean,
  what: string,
  timeoutMs?: number,
): Promise<void> {
  const seen = async (): Promise<boolean> =>
    (await seenPeers(target)).some((peer) => peer.name === name && fits(peer));
  await until(seen, `${name} to be seen ${what}`, timeoutMs);
}
