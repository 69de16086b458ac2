import { NO_MODEL, tierFits, tierRange } from '@hermes-fleet/peers';
import {
  type Caller,
  isWriteTask,
  MAX_PATH,
  type ModelInfo,
  type TaskDispatch,
  type Unmet,
  type UnmetKind,
  versionUnmet,
} from '@hermes-fleet/protocol';

/** A probe older than this is repeated before a task that needs the server is admitted (design 2, Admission). */
const PROBE_MAX_AGE_MS = 5_000;
const PROBE_TIMEOUT_MS = 1_000;

/** What admission goes by; the measuring ones are asked only when a dispatch needs them. */
export interface AdmissionInputs {
  readonly self: string;
  /** The handshake versions that this profile speaks. */
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
  repoState(): Promise<{ readonly branch: string; readonly clean: boolean }>;
  countTokens(text: string): Promise<number>;
  /** Tokens below which the executor does not start. */
  readonly minimumBudget: number;
  readonly queue: { readonly full: boolean; readonly waiting: number };
}

export interface AdmissionRequest {
  readonly dispatch: TaskDispatch;
  readonly caller: Caller;
  readonly inputs: AdmissionInputs;
}

type Check = (request: AdmissionRequest) => Unmet[] | Promise<Unmet[]>;

const MET: Unmet[] = [];
const unmet = (kind: UnmetKind, name: string, detail: string, transient = false): Unmet[] => [
  { kind, name, detail, transient },
];

/**
 * What an own task needs and this profile can't give now: all of it at once, in the order of design 2 (Admission),
 * before the first token. Empty = admitted. A foreign major version is answered alone, and so is any task where no model
 * runs.
 */
export function admit(request: AdmissionRequest): Promise<Unmet[]> {
  return collect(request, OWN_CHECKS);
}

/** The same for a task that is to be relayed: what peers must give is for routing to judge. */
export function admitRelayed(request: AdmissionRequest): Promise<Unmet[]> {
  return collect(request, RELAY_CHECKS);
}

async function collect(request: AdmissionRequest, checks: readonly Check[]): Promise<Unmet[]> {
  for (const alone of [version, worker]) {
    const unmet = await alone(request);
    if (unmet.length > 0) return unmet;
  }
  return (await Promise.all(checks.map((check) => check(request)))).flat();
}

const version: Check = ({ dispatch, inputs: facts }) =>
  versionUnmet(dispatch.protocolVersion, facts.versions);

const worker: Check = ({ inputs: { self, model } }) =>
  model.tier === NO_MODEL.tier
    ? unmet('capability', self, `${self} takes no tasks: send a CONTROL_DECISION (apply_control_decision)`)
    : MET;

const scope: Check = ({ caller }) =>
  caller.scopes.has('dispatch')
    ? MET
    : unmet('scope', 'dispatch', `caller ${caller.name} lacks the scope "dispatch"`);

/** `hops` = the profiles that the task will have come through when it reaches whoever does it. */
const pathOf =
  (hops: (through: readonly string[], self: string) => readonly string[]): Check =>
  ({ dispatch, inputs: { self } }) => {
    const { path: through = [] } = dispatch.task;
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
/** A relayed task comes through this profile too: what would be too long there is not sent. */
const relayedPath = pathOf((through, self) => [...through, self]);

const deadline: Check = ({ dispatch, inputs: facts }) =>
  dispatch.deadline !== undefined && Date.parse(dispatch.deadline) <= facts.now
    ? unmet('deadline', dispatch.deadline, `the deadline ${dispatch.deadline} has passed`)
    : MET;

const mcp: Check = async ({ dispatch, inputs: facts }) => {
  const configured = new Set(facts.mcp.names());
  const required = [...new Set(dispatch.requirements?.requiredMcp ?? [])];
  const found = await Promise.all(
    required.map(async (name) => {
      if (!configured.has(name))
        return unmet('mcp', name, `required MCP server "${name}" is not configured on ${facts.self}`);
      const { state, detail } = await facts.mcp.probe(name, {
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
};

const capabilities: Check = ({ dispatch, inputs: facts }) =>
  [...new Set(dispatch.requirements?.requiredCapabilities ?? [])].flatMap((name) =>
    facts.capabilities.includes(name)
      ? MET
      : unmet('capability', name, `required capability "${name}" is not available on ${facts.self}`),
  );

const tier: Check = ({ dispatch, inputs: facts }) =>
  tierFits(facts.model.tier, dispatch, facts.tiers)
    ? MET
    : unmet(
        'tier',
        facts.model.tier,
        `${facts.self} runs a model of tier ${facts.model.tier}, and ${tierRange(dispatch)} is asked for`,
      );

const contextWindow: Check = async ({ dispatch, inputs: facts }) => {
  const { contextWindow: window } = facts.model;
  const wanted = dispatch.requirements?.minContextWindow ?? 0;
  // A token is at least one byte: what is that short fits without loading the tokenizer.
  const fits = Buffer.byteLength(dispatch.brief) <= window;
  const tokens = fits ? 0 : await facts.countTokens(dispatch.brief);
  return [
    ...(wanted > window
      ? unmet(
          'context',
          'min_context_window',
          `a context window of ${wanted} is asked for, ${facts.self} has ${window}`,
        )
      : MET),
    ...(tokens > window
      ? unmet(
          'context',
          'brief',
          `the brief has ${tokens} tokens, the context window of ${facts.self} ${window}`,
        )
      : MET),
  ];
};

const budget: Check = ({ dispatch, inputs: facts }) => {
  const { tokenBudget } = dispatch.task;
  if (tokenBudget === undefined || tokenBudget >= facts.minimumBudget) return MET;
  const detail = `token budget ${tokenBudget} is below the ${facts.minimumBudget} tokens that ${facts.self} needs to start`;
  return unmet('budget', 'token_budget', detail);
};

const repo: Check = async ({ dispatch, inputs: facts }) => {
  if (!isWriteTask(dispatch)) return MET;
  const { clean, branch } = await facts.repoState();
  if (clean) return MET;
  const detail = `the working tree of ${facts.self} is dirty (branch ${branch}), and this is a write task`;
  return unmet('repo', branch, detail, true);
};

const capacity: Check = ({ inputs: facts }) =>
  facts.queue.full
    ? unmet('capacity', 'queue', `the queue of ${facts.self} is full (${facts.queue.waiting} waiting)`, true)
    : MET;

const OWN_CHECKS: readonly Check[] = [
  scope,
  path,
  deadline,
  mcp,
  capabilities,
  tier,
  contextWindow,
  budget,
  repo,
  capacity,
];

const RELAY_CHECKS: readonly Check[] = [scope, relayedPath, deadline, capacity];
