import { createReadStream } from 'node:fs';
import type { A2AClient } from '@hermes-fleet/a2a';
import { isTerminal, type Ledger, type TaskRecord } from '@hermes-fleet/ledger';
import { isProsePeer, type PeerRegistry } from '@hermes-fleet/peers';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { ResultPart } from '@hermes-fleet/protocol/api';
import type { Clock, Log, ResultCommits, ResultContent, TaskResults } from '@hermes-fleet/protocol/ports';
import { workerOf } from '@hermes-fleet/relay';
import { z } from 'zod';
import type { ContentStream } from './content-at-peer.ts';
import { resultAtPeer } from './result-at-peer.ts';

/** Reads the results of tasks in repositories, here or at the peers that did them. */
export interface Results {
  /**
   * Opens a part of the result of a task. Throws NO_RESULT, ARTIFACT_TOO_LARGE, for a task that a peer did PEER_UNREACHABLE,
   * PEER_REFUSED and UNSUPPORTED_OPERATION, and the reason of `signal`, which also ends the stream.
   */
  open(task: TaskRecord, part: ResultPart, signal: AbortSignal): Promise<ContentStream>;
}

export interface ResultsOptions {
  /** Absent for an agent that keeps no files. */
  readonly agentResults: TaskResults | undefined;
  readonly ledger: Pick<Ledger, 'lateResult'>;
  readonly peers: Pick<PeerRegistry, 'get'>;
  readonly client: Pick<A2AClient, 'fetch'>;
  readonly clock: Clock;
  readonly log: Log;
}

const Delivered = z.object({
  artifacts: z.object({
    delivery: z.object({
      repository: z.string().nullable(),
      branch: z.string(),
      commit: z.string().nullable(),
      base: z.string().nullable(),
    }),
  }),
});
const Changed = z.object({ artifacts: z.object({ files_changed: z.array(z.unknown()).min(1) }) });
const Relayed = z.object({ attempts: z.array(z.unknown()).min(1) });

export function createResults(options: ResultsOptions): Results {
  const { agentResults, ledger, peers, client, clock, log } = options;

  async function openOwn(
    result: ResultCommits,
    part: ResultPart,
    signal: AbortSignal,
  ): Promise<ContentStream> {
    if (!agentResults) throw noResult('this profile keeps no files of tasks');
    const read = await contentOf(agentResults, result, part, signal);
    const dispose = (): void =>
      void read[Symbol.asyncDispose]().then(undefined, (err: unknown) =>
        log.warn({ err }, 'file of a result that was read not removed'),
      );
    if (signal.aborted) {
      dispose();
      throw signal.reason;
    }
    return { content: createReadStream(read.path).once('close', dispose), bytes: read.bytes };
  }

  return {
    async open(task, part, signal) {
      const { id, state, result } = task;
      if (!isTerminal(state) || !result) throw noResult(`task ${id} has not ended: ask again when it has`);
      const worker = workerOf(result);
      const peer = worker && peers.get(worker.peer);
      if (peer && worker.peer_task_id === undefined && isProsePeer(peer, clock.now()))
        throw noResult(
          `${worker.peer}, which did task ${id}, does not speak the handshake and keeps its files: ask its operator for them`,
        );
      const late = ledger.lateResult(id);
      const commits = commitsIn(task, late ? [result, late] : [result]);
      if (!Relayed.safeParse(result).success) return openOwn(commits, part, signal);
      if (worker?.peer_task_id === undefined) throw noResult(recordedNowhere(id));
      if (!peer?.endpoint)
        throw new FleetError(
          'PEER_UNREACHABLE',
          `${worker.peer}, which did task ${id}, is not known as a peer now: add it to fleet.agents, or let it join again`,
        );
      const asked = { endpoint: peer.endpoint, taskId: worker.peer_task_id, part };
      return resultAtPeer({ ...asked, fetch: client.fetch, clock, signal });
    },
  };
}

const noResult = (message: string): FleetError => new FleetError('NO_RESULT', message);

const recordedNowhere = (id: string): string =>
  `task ${id} ended before the release that records where its files are: take the branch of its context at the profile that did it`;

/** The commits in the first of these results that has some. Throws NO_RESULT that says why there are none. */
function commitsIn({ id, contextId }: TaskRecord, results: readonly JsonObject[]): ResultCommits {
  const found = results.map((each) => Delivered.safeParse(each).data).find((each) => each !== undefined);
  if (!found) {
    const changed = results.some((each) => Changed.safeParse(each).success);
    throw noResult(changed ? recordedNowhere(id) : `task ${id} changed no files`);
  }
  const { repository, branch, base, commit } = found.artifacts.delivery;
  if (commit === null)
    throw noResult(
      `the files of task ${id} are not committed: they are in the working tree of the profile that did it, on the branch ${branch}`,
    );
  if (base === null)
    throw noResult(`task ${id} began from no commit with which its result could be compared`);
  return { contextId, repository, branch, base, commit };
}

function contentOf(
  results: TaskResults,
  result: ResultCommits,
  part: ResultPart,
  signal: AbortSignal,
): Promise<ResultContent> {
  switch (part.kind) {
    case 'diff':
      return results.diff(result, { path: part.path, stat: part.stat, signal });
    case 'file':
      return results.file(result, part.path, { signal });
    case 'bundle':
      return results.bundle(result, { whole: part.whole, signal });
  }
}
