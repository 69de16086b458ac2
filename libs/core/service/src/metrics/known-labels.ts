import { ResultStatus, UnmetKind } from '@hermes-fleet/protocol/handshake';

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
export const STATUSES = [...ResultStatus.options, 'canceled'];
export const TOKEN_TYPES = ['input', 'output'];
export const RESULTS = ['ok', 'error'];
export const PUSH_RESULTS = [...RESULTS, 'given_up'];
export const OVERRUNS = ['exceeded', 'delegated'];
export const MODEL_CALLS = ['ok', 'error', 'canceled'];
export const COMPACTIONS = ['prune', 'cut', 'summary'];
/** Repeated calls to a peer, and what a task waited for. */
export const RETRIES = ['send', 'stream', 'ask', 'answer', ...UnmetKind.options];
/** The interventions of each guard (docs/metrics.md). */
export const GUARDS = [
  ...['verify', 'review', 'reply', 'ending', 'loop'].map((guard) => ({ guard, level: 'warn' })),
  { guard: 'loop', level: 'harder' },
  ...['budget', 'steps', 'window'].map((guard) => ({ guard, level: 'wrap_up' })),
  ...['budget', 'steps', 'model', 'deadline', 'loop'].map((guard) => ({ guard, level: 'stop' })),
];
/** What a task can wait for: a slot of the agent, a peer, an answer of its caller. */
export const QUEUES = ['own', 'waiting', 'input'];
/** The tier of tasks that are relayed, and of tasks that no model of the profile could take. */
export const NO_TIER = 'none';
