import { randomBytes } from 'node:crypto';
import { connectionFault } from '@hermes-fleet/a2a/client';
import type { TlsFetch } from '@hermes-fleet/net';
import {
  CHALLENGE_PATH,
  FleetError,
  isSameProof,
  JoinProof,
  joinProof,
  networkFault,
  parseJson,
} from '@hermes-fleet/protocol';

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 4_096;

export interface CallBackOptions {
  readonly orchestrator: string;
  readonly worker: { readonly name: string; readonly url: string; readonly token: string };
  /** Follows no redirect. */
  readonly request: TlsFetch;
  /** Default: 5 s. */
  readonly timeoutMs?: number;
}

/**
 * Asks a joining worker at its address for a proof that it listens there: the way back works before anything is stored
 * (docs/peering.md#joining). Its token is not sent. Throws PEER_UNREACHABLE that names the fault.
 */
export async function callBack(options: CallBackOptions): Promise<void> {
  const { orchestrator, worker, request, timeoutMs = TIMEOUT_MS } = options;
  const challenge = { orchestrator, nonce: randomBytes(24).toString('base64url') };
  const url = worker.url.replace(/\/jsonrpc$/, CHALLENGE_PATH);
  const fault = (reason: string, cause?: unknown): FleetError =>
    new FleetError(
      'PEER_UNREACHABLE',
      `${orchestrator} does not reach ${worker.name} at ${url.slice(0, -CHALLENGE_PATH.length)}: ${reason}`,
      cause === undefined ? {} : { cause },
    );
  let text: string;
  let status: number;
  try {
    const response = await request(url, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(challenge),
      signal: AbortSignal.timeout(timeoutMs),
    });
    status = response.status;
    text = await readAtMost(response, MAX_ANSWER_BYTES);
  } catch (thrown) {
    const known = connectionFault(thrown);
    throw fault(known ? `${known.what}: ${known.remedy}` : networkFault(thrown, timeoutMs), thrown);
  }
  if (status !== 200) throw fault(`HTTP ${status} from whoever listens there, which is not fleet join`);
  const answer = JoinProof.safeParse(parseJson(text));
  if (!answer.success || !isSameProof(answer.data.proof, joinProof(worker.token, challenge)))
    throw fault('somebody else listens there: the answer is not the proof of this worker');
}

async function readAtMost(response: Response, bytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > bytes) break;
  }
  return text.slice(0, bytes);
}
