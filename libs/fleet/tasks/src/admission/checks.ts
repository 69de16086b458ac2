import { NO_MODEL } from '@hermes-fleet/peers';
import { FleetError } from '@hermes-fleet/protocol';
import {
  type Condition,
  conditionsOf,
  dirtyTree,
  isWriteTask,
  MAX_PATH,
  MET,
  type TaskDispatch,
  type Unmet,
  UnmetKind,
  unmet,
  unmetOfEach,
  versionUnmet,
  type WorkerFacts,
  windowForBrief,
} from '@hermes-fleet/protocol/handshake';
import type { Caller, MeasuredModel, ModelInfo, ModelWatch, RepoState } from '@hermes-fleet/protocol/ports';
import { queueUnmet } from '../scheduling/judge.ts';

/** The state of this profile. The functions measure, and are called only if a dispatch needs them. */
export interface AdmissionInputs {
  readonly self: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  readonly now: number;
  readonly model: ModelInfo;
  readonly tiers: readonly string[];
  readonly capabilities: readonly string[];
  readonly mcp: {
    names(): string[];
    probe(
      name: string,
      options: { maxAgeMs: number; timeoutMs: number },
    ): Promise<{ readonly state: string; readonly detail: string }>;
  };
  /** The measured health of the model; undefined without one. */
  readonly modelWatch: Pick<ModelWatch, 'health' | 'probe'> | undefined;
  repoState(): Promise<RepoState>;
  countTokens(text: string): Promise<number>;
  /** The smallest token budget with which the executor starts, without the brief; 0 if it spends nothing. */
  readonly minimumBudget: number;
  readonly queue: { readonly full: boolean; readonly waiting: number };
  /** Names the resource that the machine is short of for a new task; undefined when there is none. */
  shortage(): Unmet | undefined;
  /** The ceilings on spending that the task would exceed (docs/configuration.md#spending). */
  ceilings(dispatch: TaskDispatch, caller: Caller): Unmet[];
}

export interface AdmissionRequest {
  readonly dispatch: TaskDispatch;
  readonly caller: Caller;
  readonly inputs: AdmissionInputs;
}

/** Returns the unmet requirements; a promise only if it measures. */
type Check = (request: AdmissionRequest) => readonly Unmet[] | Promise<readonly Unmet[]>;

/** An older probe is repeated before a task that requires the server is admitted (docs/handshake.md#admission). */
const PROBE_MAX_AGE_MS = 5_000;
const PROBE_TIMEOUT_MS = 1_000;

/** The name of the unmet capability of a profile whose model cannot be called. */
const MODEL = 'model';

/**
 * Checks a task for this profile's own executor, before the first token. Returns every unmet requirement, in the order
 * of docs/handshake.md#admission; empty = admitted. An unsupported major version, or a profile without a model, is
 * reported alone.
 */
export async function admit(request: AdmissionRequest): Promise<readonly Unmet[]> {
  const unmet = await collect(request, OWN_CHECKS);
  const { modelWatch } = request.inputs;
  if (!modelWatch || !unmet.every(isModelDown)) return unmet;
  // Only a task that meets everything else is worth a connection to the model's provider.
  const probed: Check = async () =>
    modelUnmet(request, await modelWatch.probe({ maxAgeMs: PROBE_MAX_AGE_MS, timeoutMs: PROBE_TIMEOUT_MS }));
  return orCapacity(probed, request);
}

/** Checks a task for a peer. Routing checks the requirements that the peer must meet. */
export async function admitRelayed(request: AdmissionRequest): Promise<readonly Unmet[]> {
  return collect(request, RELAY_CHECKS);
}

/** Returns a promise only if a check measures. */
function collect(
  request: AdmissionRequest,
  checks: readonly Check[],
): readonly Unmet[] | Promise<readonly Unmet[]> {
  const alone = version(request);
  if (alone.length > 0) return alone;
  const idle = worker(request);
  if (idle.length > 0) return idle;
  const found: (readonly Unmet[] | Promise<readonly Unmet[]>)[] = [];
  for (const check of checks) {
    const unmet = orCapacity(check, request);
    if (unmet instanceof Promise || unmet.length > 0) found.push(unmet);
  }
  const [only = []] = found;
  return found.length > 1 ? Promise.all(found).then((each) => each.flat().sort(byKind)) : only;
}

/** The kinds are listed in the order of docs/handshake.md#admission. */
const byKind = (a: Unmet, b: Unmet): number =>
  UnmetKind.options.indexOf(a.kind) - UnmetKind.options.indexOf(b.kind);

/** A check that needs a process, and cannot start one, leaves the capacity of the machine unmet. */
function orCapacity(check: Check, request: AdmissionRequest): readonly Unmet[] | Promise<readonly Unmet[]> {
  try {
    const found = check(request);
    return found instanceof Promise ? found.catch(capacityUnmet) : found;
  } catch (error) {
    // A promise, because other checks may be under way.
    return Promise.reject(error).catch(capacityUnmet);
  }
}

function capacityUnmet(error: unknown): readonly Unmet[] {
  if (error instanceof FleetError && error.code === 'CAPACITY')
    return unmet('capacity', 'processes', error.message, true);
  throw error;
}

const version = ({ dispatch, inputs }: AdmissionRequest): readonly Unmet[] =>
  versionUnmet(dispatch.protocolVersion, inputs.versions);

const worker = ({ inputs: { self, model } }: AdmissionRequest): readonly Unmet[] =>
  model.tier === NO_MODEL.tier
    ? unmet('capability', self, `${self} takes no tasks: send a CONTROL_DECISION (apply_control_decision)`)
    : MET;

const scope: Check = ({ caller }) =>
  caller.scopes.has('dispatch')
    ? MET
    : unmet('scope', 'dispatch', `caller ${caller.name} lacks the scope "dispatch"`);

/** `hops` returns the profiles that the task has passed when it reaches its executor. */
const pathOf =
  (hops: (through: readonly string[], self: string) => readonly string[]): Check =>
  ({ dispatch, inputs: { self } }) => {
    const { path: through = [] } = dispatch.task;
    if (through.length === 0) return MET;
    const trail = hops(through, self);
    const again = [...through, self].find((name, at, all) => all.indexOf(name) < at);
    const cycle = `the task came through ${again} before (${through.join(' > ')}): a cycle`;
    const tooLong = `the task came through ${trail.length} profiles, at most ${MAX_PATH} are allowed`;
    return [
      ...(again === undefined ? MET : unmet('path', again, cycle)),
      ...(trail.length > MAX_PATH ? unmet('path', trail.join(' > '), tooLong) : MET),
    ];
  };

const path = pathOf((through) => through);
/** A relayed task also passes this profile, so a path that would be too long at the peer is refused here. */
const relayedPath = pathOf((through, self) => [...through, self]);

const deadline: Check = ({ dispatch, inputs }) =>
  dispatch.deadline !== undefined && Date.parse(dispatch.deadline) <= inputs.now
    ? unmet('deadline', dispatch.deadline, `the deadline ${dispatch.deadline} has passed`)
    : MET;

/** What a dispatch requires of this profile, as routing requires it of a peer. */
const requirements: Check = (request) => {
  const { dispatch, inputs } = request;
  const conditions = conditionsOf(dispatch.requirements, inputs.tiers);
  const servers = conditions.filter(({ kind }) => kind === 'mcp').map(({ name }) => name);
  return servers.length > 0 || inputs.model.isWindowPending || !fits(request)
    ? measuredUnmet(request, conditions, servers)
    : unmetOfEach(conditions, (condition) => condition.unmet(factsOf(inputs, [])));
};

/** A token has at least one byte, so a short brief fits without loading the tokenizer. */
const fits = ({ dispatch, inputs }: AdmissionRequest): boolean =>
  Buffer.byteLength(dispatch.brief) <= inputs.model.contextWindow;

async function measuredUnmet(
  request: AdmissionRequest,
  conditions: readonly Condition[],
  servers: readonly string[],
): Promise<readonly Unmet[]> {
  const { dispatch, inputs } = request;
  const configured = inputs.mcp.names().filter((name) => servers.includes(name));
  const limits = { maxAgeMs: PROBE_MAX_AGE_MS, timeoutMs: PROBE_TIMEOUT_MS };
  const probe = async (name: string) => ({ name, ...(await inputs.mcp.probe(name, limits)) });
  const probed = await Promise.all(configured.map(probe));
  const judge = async (): Promise<readonly Unmet[]> => {
    const brief = fits(request) ? [] : [windowForBrief(await inputs.countTokens(dispatch.brief))];
    const facts = factsOf(inputs, probed);
    return unmetOfEach([...conditions, ...brief], (condition) => condition.unmet(facts));
  };
  const found = await judge();
  const isPending = inputs.model.isWindowPending && found.some(({ kind }) => kind === 'context');
  if (!isPending || !inputs.modelWatch) return found;
  // The provider, which knows the window, may answer by now.
  await inputs.modelWatch.probe({ maxAgeMs: 0, timeoutMs: PROBE_TIMEOUT_MS });
  return judge();
}

/** The facts of this profile as an announce has those of a peer, with only the MCP servers that matter. */
function factsOf(
  { model, capabilities: tools }: AdmissionInputs,
  servers: readonly { readonly name: string; readonly state: string; readonly detail: string }[],
): WorkerFacts {
  return {
    worker: { modelTier: model.tier, contextWindow: model.contextWindow },
    isWindowPending: model.isWindowPending ?? false,
    capabilities: { tools, mcpServers: servers.map(({ name }) => name) },
    mcpHealth: Object.fromEntries(servers.map(({ name, state }) => [name, state])),
    mcpDetail: Object.fromEntries(servers.map(({ name, detail }) => [name, detail])),
  };
}

const modelUnmet = (
  { inputs: { self, model } }: AdmissionRequest,
  { state, detail }: MeasuredModel,
): readonly Unmet[] =>
  state === 'ok'
    ? MET
    : unmet('capability', MODEL, `the model ${model.id} of ${self} is not healthy (${detail})`, true);

const model: Check = (request) => {
  const { modelWatch } = request.inputs;
  return modelWatch ? modelUnmet(request, modelWatch.health()) : MET;
};

const isModelDown = ({ kind, name, transient }: Unmet): boolean =>
  kind === 'capability' && name === MODEL && transient;

const budget: Check = ({ dispatch: { brief, task }, inputs }) => {
  const { tokenBudget } = task;
  // An executor that spends nothing has no minimum.
  return tokenBudget === undefined || inputs.minimumBudget === 0
    ? MET
    : budgetUnmet(brief, tokenBudget, inputs);
};

async function budgetUnmet(
  brief: string,
  tokenBudget: number,
  { minimumBudget, self, countTokens }: AdmissionInputs,
): Promise<readonly Unmet[]> {
  const fits = minimumBudget + Buffer.byteLength(brief) <= tokenBudget;
  const needed = minimumBudget + (fits || tokenBudget < minimumBudget ? 0 : await countTokens(brief));
  if (tokenBudget >= needed) return MET;
  const detail = `token budget ${tokenBudget} is below the ${needed} tokens that ${self} needs to start this task`;
  return unmet('budget', 'token_budget', detail);
}

const ceilings: Check = ({ dispatch, caller, inputs }) => inputs.ceilings(dispatch, caller);

const repo: Check = (request) => request.inputs.repoState().then((state) => repoUnmet(request, state));

function repoUnmet({ dispatch, inputs }: AdmissionRequest, state: RepoState): readonly Unmet[] {
  const { branch, problem } = state;
  if (problem !== undefined)
    return unmet('repo', inputs.self, `${inputs.self} cannot work with its repositories: ${problem}`, true);
  if (state.clean || !isWriteTask(dispatch)) return MET;
  return dirtyTree(branch, state.uncommitted, state.inUse ?? false);
}

const capacity: Check = ({ inputs: { queue, self } }) => (queue.full ? queueUnmet(self, queue.waiting) : MET);

const room: Check = ({ inputs }) => {
  const short = inputs.shortage();
  return short === undefined ? MET : [short];
};

const OWN_CHECKS: readonly Check[] = [
  scope,
  path,
  deadline,
  requirements,
  model,
  budget,
  ceilings,
  repo,
  capacity,
  room,
];

const RELAY_CHECKS: readonly Check[] = [scope, relayedPath, deadline, ceilings, capacity];
