import type { RequirementField } from '@hermes-fleet/protocol/handshake';
import { flag, type OptionSpecs, text, texts } from './command.ts';

/** Options that locate a fleet of plain processes; without them, a command finds the fleet that runs. */
export const PLAN_OPTIONS = {
  dir: text('folder', 'the folder of the fleet; .fleet of the checkout by default'),
  'port-offset': text('n', 'what is added to every port; as at the start by default'),
} satisfies OptionSpecs;

/** Options that locate a running fleet: the processes of `--dir`, or `--reach` addresses. */
export const SERVICE_OPTIONS = {
  reach: texts('name=url', 'the address of a service; repeat it for each; instead of the fleet that runs'),
  ...PLAN_OPTIONS,
} satisfies OptionSpecs;

/** As SERVICE_OPTIONS, for one profile of it. */
export const FLEET_OPTIONS = {
  profile: text('name', 'the profile to ask; switch by default'),
  ...SERVICE_OPTIONS,
} satisfies OptionSpecs;

/** Options that locate a service's entry point: in the fleet of `--dir`, or with `--as-is` in this environment. */
export const ENTRY_POINT_OPTIONS = {
  'as-is': flag('use the environment of this process, as inside a container'),
  ...PLAN_OPTIONS,
} satisfies OptionSpecs;

/** Options that name who is asked: the profiles of a fleet, or any A2A agent. */
export const REACH_OPTIONS = {
  ...FLEET_OPTIONS,
  url: text('url', 'any A2A agent, by its address or that of its card, instead of the fleet'),
  'token-env': text('name', 'the variable with the bearer token for --url'),
} satisfies OptionSpecs;

/** Options for the contract of a dispatch. */
export const CONTRACT_OPTIONS = {
  mcp: texts('names', 'required MCP servers; a list, or repeated'),
  capability: texts('names', 'required capabilities; a list, or repeated'),
  'tier-min': text('tier', 'the lowest model tier'),
  'tier-max': text('tier', 'the highest model tier'),
  'tier-prefer': text('tier', 'the preferred model tier'),
  'context-window': text('tokens', 'the smallest context window'),
  priority: text('priority', 'low, normal, high or urgent'),
  budget: text('tokens', 'the most tokens that the task may spend'),
  repo: text(
    'name|path',
    'the repository to work on: its name in the configuration of workers, or a path of yours',
  ),
  base: text('branch', 'the branch that the work starts from; that of the configuration by default'),
  'read-only': flag('the task changes no file'),
  'task-id': text('id', "the caller's name for the task; the same one makes no second task"),
} satisfies OptionSpecs;

/** Options that describe a dispatch; the alternative is a file that holds one. */
export const DISPATCH_OPTIONS = {
  brief: text('text', 'what is to be done'),
  ...CONTRACT_OPTIONS,
  deadline: text('time', 'when the task must be done, in ISO 8601'),
  target: text('peer', 'the peer that must do it; auto by default'),
} satisfies OptionSpecs;

/** The option that sets each field of a dispatch. The compiler names a requirement without one. */
export const OPTION_OF_FIELD = {
  'task.task_id': 'task-id',
  'task.priority': 'priority',
  'task.token_budget': 'budget',
  'task.write': 'read-only',
  'task.repository.name': 'repo',
  'task.repository.base': 'base',
  'requirements.required_mcp': 'mcp',
  'requirements.required_capabilities': 'capability',
  'requirements.model_tier.min': 'tier-min',
  'requirements.model_tier.max': 'tier-max',
  'requirements.model_tier.prefer': 'tier-prefer',
  'requirements.min_context_window': 'context-window',
  deadline: 'deadline',
  brief: 'brief',
  'routing.target': 'target',
} as const satisfies Readonly<Record<string, keyof typeof DISPATCH_OPTIONS>> &
  Readonly<Record<`requirements.${RequirementField}`, string>>;
