import { allowedEndpoint } from '@hermes-fleet/fleet-config';
import { joinTokenProblem, type Ledger, nameTaken, type WorkerRecord } from '@hermes-fleet/ledger';
import { isLive, type PeerRegistry, type WorkerDirectory } from '@hermes-fleet/peers';
import {
  FleetError,
  fingerprint,
  type JoinOffer,
  JoinRequest,
  type Membership,
  PROTOCOL_VERSIONS,
} from '@hermes-fleet/protocol';
import type { Answer, JOINING } from '@hermes-fleet/protocol/api';
import type { Caller, Clock, Log } from '@hermes-fleet/protocol/ports';
import { peerWithTask } from '@hermes-fleet/relay';
import { stateOf } from '../http/peer-view.ts';
import { readInput } from '../http/read-input.ts';
import { type CallBackOptions, callBack } from './call-back.ts';
import { type JoinTokens, mayTakeName, termsOf } from './join-tokens.ts';

/** Requests of one join token that wait for another of it. */
const MAX_WAITING = 4;
/** Workers that have joined at the same time: routing looks at each of them for each task (docs/scale.md#where-it-stops). */
const MAX_WORKERS = 1_000;

export interface MembershipsOptions {
  readonly profile: string;
  readonly ledger: Pick<Ledger, 'joins' | 'unfinished' | 'loadCheckpoint'>;
  readonly directory: WorkerDirectory;
  readonly tokens: JoinTokens;
  readonly peers: Pick<PeerRegistry, 'get' | 'ownerOf' | 'admitted' | 'removed'>;
  readonly tiers: readonly string[];
  /** Why no worker may have this name; undefined if one may. */
  readonly nameProblem: (name: string) => string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: 1,000. */
  readonly maxWorkers?: number | undefined;
  /** Calls a worker back. */
  readonly request: CallBackOptions['request'];
}

/** The membership of workers that join with a join token (docs/peering.md#joining). */
export function createMemberships(options: MembershipsOptions) {
  const { profile, ledger, directory, tokens, peers, clock, log, maxWorkers = MAX_WORKERS } = options;
  /** The last request of each join token, and how many wait. */
  const redeeming = new Map<string, { last: Promise<unknown>; waiting: number }>();

  /** Our tasks that the worker has, running and recovered ones alike. */
  function tasksAt(name: string): number {
    const durable = ledger.unfinished().filter(({ id }) => peerWithTask(ledger.loadCheckpoint(id)) === name);
    return Math.max(durable.length, peers.get(name)?.inFlight ?? 0);
  }

  /** True if a worker that joined without a join token uses the name: what it has would be asked of the new worker. */
  function isElsewhere(name: string): boolean {
    const peer = peers.get(name);
    return peer?.standing === 'joined' && (isLive(peer, clock.now()) || tasksAt(name) > 0);
  }

  function view(worker: WorkerRecord, state: Membership['state'], tasks: number): Membership {
    const peer = peers.get(worker.name);
    return {
      name: worker.name,
      orchestrator: profile,
      state,
      peer: peer ? stateOf(peer, clock.now()) : 'silent',
      tasks,
    };
  }

  function memberOf(name: string): WorkerRecord {
    const worker = directory.get(name);
    if (!worker) throw new FleetError('NOT_FOUND', `no worker named ${name} has joined ${profile}`);
    return worker;
  }

  const membership = (worker: WorkerRecord): Membership =>
    view(worker, worker.leavingAt === undefined ? 'joined' : 'leaving', tasksAt(worker.name));

  async function redeem(caller: Caller, wire: unknown): Promise<Membership> {
    const token = tokens.of(caller);
    const asked = readInput('the request to join is', JoinRequest, wire);
    const { endpoints, scopes } = termsOf(token);
    const request = fingerprint({ ...asked });
    const known = directory.get(asked.name);
    if (known && known.joinToken === token.id && token.used?.request === request) return membership(known);
    const problem = joinTokenProblem(token, clock.now());
    if (problem !== undefined) throw new FleetError('UNAUTHENTICATED', problem);
    if (!mayTakeName(token, asked.name))
      throw forbidden(`this join token is for the name ${token.name}, not for ${asked.name}`);
    if (known) throw forbidden(nameTaken(asked.name));
    const taken = options.nameProblem(asked.name);
    if (taken !== undefined) throw forbidden(`the name ${asked.name} ${taken}`);
    if (isElsewhere(asked.name))
      throw forbidden(
        `a worker that joined without a join token has the name ${asked.name}, and is live or has tasks: choose another name`,
      );
    const url = allowedEndpoint(asked.endpoint, endpoints);
    const may = `${asked.name} may not join with ${url ?? asked.endpoint}:`;
    if (url === undefined) throw forbidden(`${may} this join token allows ${endpoints.join(', ')}`);
    const owner = peers.ownerOf(url, asked.name);
    if (owner !== undefined) throw forbidden(`${may} that is where ${owner} is`);
    if (directory.list().length >= maxWorkers)
      throw new FleetError(
        'CAPACITY',
        `${maxWorkers} workers have joined ${profile}, the most allowed: list some of them in its fleet.yaml, or join another orchestrator`,
      );
    await callBack({
      orchestrator: profile,
      worker: { name: asked.name, url, token: asked.token },
      request: options.request,
    });
    const worker: WorkerRecord = {
      name: asked.name,
      digest: asked.token_digest.slice('sha256:'.length),
      token: asked.token,
      url,
      scopes,
      joinToken: token.id,
      joinedAt: clock.now(),
      leavingAt: undefined,
    };
    await ledger.joins.join(worker, { request, at: worker.joinedAt });
    directory.put(worker);
    peers.admitted(worker.name);
    log.info(
      { peer: worker.name, endpoint: url, join_token: token.id },
      'a worker has joined with a join token',
    );
    return membership(worker);
  }

  async function end(
    worker: WorkerRecord,
    reason: string,
    { isRevoked }: { readonly isRevoked: boolean },
  ): Promise<void> {
    await ledger.joins.removeWorker(worker.name, { isRevoked });
    directory.remove(worker.name, reason, { cutOff: isRevoked });
    peers.removed(worker.name);
  }

  return {
    /** What the join token of the caller offers. Throws UNAUTHENTICATED for a used one. */
    offer(caller: Caller): JoinOffer {
      const token = tokens.of(caller);
      const problem = joinTokenProblem(token, clock.now());
      if (problem !== undefined) throw new FleetError('UNAUTHENTICATED', problem);
      const { tier, endpoints, scopes } = termsOf(token);
      return {
        orchestrator: profile,
        name: token.name,
        tier: tier ?? null,
        tiers: [...options.tiers],
        protocol_versions: [...PROTOCOL_VERSIONS],
        endpoints: [...endpoints],
        scopes: [...scopes],
        expires_at: new Date(token.expiresAt).toISOString(),
      };
    },
    /**
     * Lets a worker join, once it has proved that it listens at its address. The same request again is answered as before.
     * Throws INVALID_PARAMS, FORBIDDEN, UNAUTHENTICATED, CAPACITY or PEER_UNREACHABLE, and nothing is stored then.
     */
    async redeem(caller: Caller, wire: unknown): Promise<Membership> {
      const { id } = tokens.of(caller);
      const queue = redeeming.get(id) ?? { last: Promise.resolve(), waiting: 0 };
      if (queue.waiting >= MAX_WAITING)
        throw new FleetError('QUEUE_FULL', 'this join token is being redeemed already', { retryAfterS: 5 });
      queue.waiting += 1;
      redeeming.set(id, queue);
      const mine = queue.last.catch(() => undefined).then(() => redeem(caller, wire));
      queue.last = mine;
      try {
        return await mine;
      } finally {
        queue.waiting -= 1;
        if (queue.waiting === 0) redeeming.delete(id);
      }
    },
    /** The membership of a worker. Throws NOT_FOUND for a caller that is none. */
    of: (name: string): Membership => membership(memberOf(name)),
    /**
     * Gives the worker no new work, and ends its membership when none of our tasks is there any more, or at once with `now`:
     * the tasks that it has are given up then, as those of a peer that is gone.
     */
    async leave(name: string, { now }: { readonly now: boolean }): Promise<Membership> {
      memberOf(name);
      const worker = (await ledger.joins.leave(name, clock.now())) ?? memberOf(name);
      directory.put(worker);
      peers.admitted(name);
      const tasks = tasksAt(name);
      if (tasks > 0 && !now) return view(worker, 'leaving', tasks);
      await end(worker, `${name} has left`, { isRevoked: false });
      log.info({ peer: name, tasks }, 'a worker has left');
      return view(worker, 'left', tasks);
    },
    list: (): Answer<typeof JOINING.workers>['workers'] =>
      directory.list().map((worker) => ({
        ...membership(worker),
        endpoint: worker.url,
        scopes: worker.scopes,
        joined_at: new Date(worker.joinedAt).toISOString(),
      })),
    /** Ends the membership of a worker at once. Throws NOT_FOUND. */
    async revoke(name: string): Promise<Answer<typeof JOINING.revokeWorker>> {
      const worker = memberOf(name);
      const tasks = tasksAt(name);
      await end(worker, `${name} was revoked`, { isRevoked: true });
      log.warn({ peer: name, tasks }, 'a worker was revoked');
      return { name, state: 'revoked', tasks };
    },
  };
}

const forbidden = (why: string): FleetError => new FleetError('FORBIDDEN', why);
