import { NO_MODEL, tierFits, tierRange } from '@hermes-fleet/peers';
import { FleetError } from '@hermes-fleet/protocol';
import { isWriteTask, MAX_PATH, type Unmet, versionUnmet } from '@hermes-fleet/protocol/handshake';
import type { MeasuredModel, RepoState } from '@hermes-fleet/protocol/ports';
import { type AdmissionInputs, type AdmissionRequest, type Check, MET, unmet } from './check.ts';

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
  // Only a task that meets everything else is worth a connection to the model's provider.
  return request.inputs.modelWatch !== undefined && unmet.every(isModelDown)
    ? collect(request, [probedModel])
    : unmet;
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
  return found.length > 1 ? Promise.all(found).then((each) => each.flat()) : only;
}

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
    const shown = trail.join(' > ');
    const again = [...through, self].find((name, at, all) => all.indexOf(name) < at);
    return [
      ...(again === undefined
        ? MET
        : unmet('path', again, `the task came through ${again} before (${through.join(' > ')}): a cycle`)),
      ...(trail.length > MAX_PATH
        ? unmet(
            'path',
            shown,
            `the task came through ${trail.length} profiles, at most ${MAX_PATH} are allowed`,
          )
        : MET),
    ];
  };

const path = pathOf((through) => through);
/** A relayed task also passes this profile, so a path that would be too long at the peer is refused here. */
const relayedPath = pathOf((through, self) => [...through, self]);

const deadline: Check = ({ dispatch, inputs }) =>
  dispatch.deadline !== undefined && Date.parse(dispatch.deadline) <= inputs.now
    ? unmet('deadline', dispatch.deadline, `the deadline ${dispatch.deadline} has passed`)
    : MET;

const mcp: Check = ({ dispatch, inputs }) => {
  const { requiredMcp = [] } = dispatch.requirements ?? {};
  return requiredMcp.length === 0 ? MET : serversUnmet([...new Set(requiredMcp)], inputs);
};

async function serversUnmet(required: readonly string[], inputs: AdmissionInputs): Promise<readonly Unmet[]> {
  const configured = new Set(inputs.mcp.names());
  const found = await Promise.all(
    required.map(async (name) => {
      if (!configured.has(name))
        return unmet('mcp', name, `required MCP server "${name}" is not configured on ${inputs.self}`);
      const { state, detail } = await inputs.mcp.probe(name, {
        maxAgeMs: PROBE_MAX_AGE_MS,
        timeoutMs: PROBE_TIMEOUT_MS,
      });
      if (state === 'ok') return MET;
      const why = detail || state;
      return unmet(
        'mcp',
        name,
        `required MCP server "${name}" is not healthy (${why})`,
        state !== 'disabled',
      );
    }),
  );
  return found.flat();
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

const probedModel: Check = (request) => {
  const { modelWatch } = request.inputs;
  return modelWatch === undefined
    ? MET
    : modelWatch
        .probe({ maxAgeMs: PROBE_MAX_AGE_MS, timeoutMs: PROBE_TIMEOUT_MS })
        .then((measured) => modelUnmet(request, measured));
};

const capabilities: Check = ({ dispatch, inputs }) => {
  const { requiredCapabilities = [] } = dispatch.requirements ?? {};
  const missing = requiredCapabilities.filter((name) => !inputs.capabilities.includes(name));
  return missing.length === 0
    ? MET
    : [...new Set(missing)].flatMap((name) =>
        unmet('capability', name, `required capability "${name}" is not available on ${inputs.self}`),
      );
};

const tier: Check = ({ dispatch, inputs }) =>
  tierFits(inputs.model.tier, dispatch, inputs.tiers)
    ? MET
    : unmet(
        'tier',
        inputs.model.tier,
        `${inputs.self} runs a model of tier ${inputs.model.tier}, and ${tierRange(dispatch)} is required`,
      );

const contextWindow: Check = (request) => {
  const { dispatch, inputs } = request;
  const { contextWindow: window, isWindowPending } = inputs.model;
  // A token has at least one byte, so a short brief fits without loading the tokenizer.
  const fits = Buffer.byteLength(dispatch.brief) <= window;
  const { minContextWindow = 0 } = dispatch.requirements ?? {};
  return fits && minContextWindow <= window && !isWindowPending ? MET : measuredWindow(request);
};

async function measuredWindow(request: AdmissionRequest): Promise<readonly Unmet[]> {
  const { modelWatch, model } = request.inputs;
  const unmet = await windowUnmet(request);
  if (unmet.length === 0 || !model.isWindowPending || !modelWatch) return unmet;
  // The provider, which knows the window, may answer by now.
  await modelWatch.probe({ maxAgeMs: 0, timeoutMs: PROBE_TIMEOUT_MS });
  return windowUnmet(request);
}

async function windowUnmet({ dispatch, inputs }: AdmissionRequest): Promise<readonly Unmet[]> {
  const { contextWindow: window, isWindowPending: isPending = false } = inputs.model;
  const wanted = dispatch.requirements?.minContextWindow ?? 0;
  const fits = Buffer.byteLength(dispatch.brief) <= window;
  const tokens = fits ? 0 : await inputs.countTokens(dispatch.brief);
  const has = `${window}${isPending ? ' until its provider can be asked' : ''}`;
  const required = `a context window of ${wanted} is required, and ${inputs.self} has ${has}`;
  const brief = `the brief has ${tokens} tokens, the context window of ${inputs.self} ${has}`;
  return [
    ...(wanted > window ? unmet('context', 'min_context_window', required, isPending) : MET),
    ...(tokens > window ? unmet('context', 'brief', brief, isPending) : MET),
  ];
}

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

function repoUnmet(
  { dispatch, inputs }: AdmissionRequest,
  { clean, branch, problem }: RepoState,
): readonly Unmet[] {
  if (problem !== undefined)
    return unmet('repo', inputs.self, `${inputs.self} cannot work with its repositories: ${problem}`, true);
  if (clean || !isWriteTask(dispatch)) return MET;
  const detail = `the working tree of ${inputs.self} is dirty (branch ${branch}), and this is a write task`;
  return unmet('repo', branch, detail, true);
}

const capacity: Check = ({ inputs }) =>
  inputs.queue.full
    ? unmet(
        'capacity',
        'queue',
        `the queue of ${inputs.self} is full (${inputs.queue.waiting} waiting)`,
        true,
      )
    : MET;

const room: Check = ({ inputs }) => {
  const short = inputs.shortage();
  return short === undefined ? MET : [short];
};

const OWN_CHECKS: readonly Check[] = [
  scope,
  path,
  deadline,
  mcp,
  capabilities,
  model,
  tier,
  contextWindow,
  budget,
  ceilings,
  repo,
  capacity,
  room,
];

const RELAY_CHECKS: readonly Check[] = [scope, relayedPath, deadline, ceilings, capacity];
