import { createHash, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { A2AClient } from '@hermes-fleet/a2a';
import { isTerminal, type Ledger, type LedgerContexts, type TaskRecord } from '@hermes-fleet/ledger';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { FleetError, isJsonObject, systemCode } from '@hermes-fleet/protocol';
import type { RepositoriesAnswer } from '@hermes-fleet/protocol/api';
import { decodeDispatch, type TaskDispatch } from '@hermes-fleet/protocol/handshake';
import type {
  BundleSource,
  Clock,
  Log,
  RepositoryBundles,
  ResultContent,
} from '@hermes-fleet/protocol/ports';
import type { ContentStream } from '../results/content-at-peer.ts';
import { bundleAtPeer } from './bundle-at-peer.ts';

export interface CheckoutsOptions {
  /** Absent for an agent that keeps none. */
  readonly bundles: RepositoryBundles | undefined;
  readonly repositories: RepositoriesAnswer['repositories'];
  readonly ledger: Pick<Ledger, 'get'> & {
    readonly contexts: Pick<LedgerContexts, 'repositoryToken' | 'beginning'>;
  };
  readonly peers: Pick<PeerRegistry, 'get'>;
  readonly client: Pick<A2AClient, 'fetch'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a bundle is opened for. */
interface Origin {
  readonly contextId: string;
  readonly caller: string;
  readonly dispatch: TaskDispatch;
}

export type Checkouts = ReturnType<typeof createCheckouts>;

/** The checkouts of callers: those that they sent here, and those that an orchestrator has for its tasks. */
export function createCheckouts(options: CheckoutsOptions) {
  const { bundles, repositories, ledger, peers, client, clock, log } = options;

  /** Opens a bundle of the context. The gateway has checked that the caller of the task sent it, before it accepted the task. */
  async function openOwn({ contextId }: Origin, commit: string): Promise<ResultContent> {
    if (bundles === undefined) throw new FleetError('NO_RESULT', 'this profile keeps no checkouts');
    return bundles.open(contextId, commit);
  }

  async function openUpstream(
    { caller, dispatch: { task } }: Origin,
    token: string,
    commit: string,
    signal: AbortSignal,
  ): Promise<ContentStream> {
    const endpoint = peers.get(caller)?.endpoint;
    if (!endpoint)
      throw new FleetError(
        'PEER_UNREACHABLE',
        `${caller}, which sent the task and has the checkout, is not known as a peer here: add it to fleet.agents`,
      );
    const asked = { ...endpoint, token };
    return bundleAtPeer({ endpoint: asked, taskId: task.taskId, commit, fetch: client.fetch, clock, signal });
  }

  /** Writes what comes from upstream to a file, and checks it if it is the bundle that the task names. */
  async function receive(
    origin: Origin,
    token: string,
    commit: string,
    signal: AbortSignal,
  ): Promise<ResultContent> {
    if (bundles === undefined) throw new FleetError('NO_RESULT', 'this profile takes no checkouts');
    await using opening = new AsyncDisposableStack();
    const { file } = opening.use(await bundles.receiving());
    const { content } = await openUpstream(origin, token, commit, signal);
    const hash = createHash('sha256');
    let bytes = 0;
    const handle = await open(file, 'wx', 0o600);
    try {
      for await (const chunk of content) {
        hash.update(chunk);
        bytes += chunk.length;
        await handle.appendFile(chunk);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw capacityIfFull(error);
    } finally {
      await handle.close();
    }
    const { repository } = origin.dispatch.task;
    if (repository?.base === commit && hash.digest('hex') !== repository.bundle)
      throw new FleetError('PEER_REFUSED', `${origin.caller} sends another bundle than that of the task`);
    const opened = opening.move();
    return { path: file, bytes, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  }

  const tokenOf = ({ dispatch }: Origin): string | undefined => dispatch.task.repository?.token;

  const source: BundleSource = {
    async open({ contextId, caller: { name: caller }, dispatch }, commit, signal) {
      const origin = { contextId, caller, dispatch };
      const token = tokenOf(origin);
      return token === undefined ? openOwn(origin, commit) : receive(origin, token, commit, signal);
    },
  };

  return {
    repositories,
    bundles,
    /** Opens bundles for tasks of the own agent. */
    source,
    /** What a context works on, for its caller; undefined where it works on no repository. */
    ofContext(contextId: string, caller: string): RepositoriesAnswer['context'] {
      const begun = ledger.contexts.beginning(contextId, caller)?.repository;
      if (!isJsonObject(begun)) return undefined;
      return { name: typeof begun.name === 'string' ? begun.name : null };
    },
    /**
     * The task whose peer presents its token. Throws TASK_NOT_FOUND in the same words for a wrong token, a task that has ended, and one
     * without a checkout.
     */
    taskOf(id: string, authorization: string | undefined): TaskRecord {
      const given = /^Bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1] ?? '';
      const isRight = timingSafeEqual(digestOf(given), digestOf(ledger.contexts.repositoryToken(id)));
      const task = ledger.get(id);
      if (isRight && task && !isTerminal(task.state) && repositoryOf(task)?.bundle !== undefined) return task;
      throw new FleetError('TASK_NOT_FOUND', `no task ${id} with a checkout is known by this token`);
    },
    /** Opens the bundle of a task that brings `commit`, by default that of the task. Throws as `BundleSource`. */
    async open(task: TaskRecord, commit: string | undefined, signal: AbortSignal): Promise<ContentStream> {
      const { contextId, caller } = task;
      const origin = { contextId, caller, dispatch: decodeDispatch(task.dispatch) };
      const token = tokenOf(origin);
      const wanted = commit ?? origin.dispatch.task.repository?.base ?? '';
      if (token !== undefined) return openUpstream(origin, token, wanted, signal);
      const read = await openOwn(origin, wanted);
      const dispose = (): void =>
        void read[Symbol.asyncDispose]().then(undefined, (err: unknown) =>
          log.warn({ err }, 'file of a checkout that was read not removed'),
        );
      return { content: createReadStream(read.path).once('close', dispose), bytes: read.bytes };
    },
  };
}

/** CAPACITY for the error of a full disk, else the error. */
export const capacityIfFull = (error: unknown): unknown =>
  systemCode(error) === 'ENOSPC'
    ? new FleetError('CAPACITY', 'the disk has no room for the bundle', { cause: error })
    : error;

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

const repositoryOf = ({ dispatch }: TaskRecord) => decodeDispatch(dispatch).task.repository;
