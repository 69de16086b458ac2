import type { JsonObject, LifecycleEvent } from '@hermes-fleet/protocol';
import { countIn, objectsIn, textIn, textsIn } from './fields.ts';

type Describe = (data: JsonObject) => string;

/** One sentence that says what an event of a task reports. Names and codes come from the event, and are text. */
export function describeEvent(type: LifecycleEvent, data: JsonObject): string {
  const text = SENTENCES[type](data);
  return textIn(data.part) === null ? text : `${text} (a part)`;
}

const of = (data: JsonObject, name: string): string => textIn(data[name]) ?? 'unknown';
const number = (value: number): string => value.toLocaleString('en');
const tokens = (data: JsonObject, name: string): string => `${number(countIn(data[name]) ?? 0)} tokens`;
const duration = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);
const names = (texts: readonly string[]): string => texts.slice(0, 5).join(', ');

const ended =
  (how: string): Describe =>
  (data) => {
    const code = textIn(data.error);
    return `${how} after ${tokens(data, 'tokens_spent')}${code === null ? '' : ` (${code})`}`;
  };

const SENTENCES: Readonly<Record<LifecycleEvent, Describe>> = {
  submitted: (data) => {
    const target = textIn(data.target);
    return target === null
      ? 'Accepted'
      : `Accepted, to be done by ${target === 'auto' ? 'the best peer' : target}`;
  },
  queued: (data) => {
    if (data.waiting === true) return `Waits: ${textIn(data.reason) ?? names(textsIn(data.unmet))}`;
    if (data.paused === true) return 'Set aside for the next start';
    if (data.withdrawn === true) return 'The question is withdrawn; continues in its turn';
    return `Queued with priority ${textIn(data.priority) ?? 'normal'}`;
  },
  started: (data) =>
    data.model_tier === 'none'
      ? 'Looks for a peer'
      : `Runs on ${of(data, 'model')} (${of(data, 'model_tier')})`,
  progress: progress,
  delegated: (data) => `Sent to ${of(data, 'peer')}, attempt ${countIn(data.attempt) ?? 1}`,
  rerouted: (data) => `Moved from ${of(data, 'from')} to ${of(data, 'to')}: ${of(data, 'reason')}`,
  input_required: (data) => {
    const chars = countIn(data.chars);
    return chars === null ? 'Asks its caller' : `Asks its caller, in ${number(chars)} characters`;
  },
  answered: (data) => `The caller has answered after ${countIn(data.waited_s) ?? 0} s`,
  artifact: (data) =>
    `Added ${number(countIn(data.bytes) ?? 0)} bytes to ${textIn(data.name) ?? textIn(data.artifact_id) ?? 'an artifact'}`,
  resumed: () => 'Resumed after a stop or a crash',
  alert: (data) => `Needs attention: ${of(data, 'reason').replaceAll('_', ' ')}`,
  blocked: (data) => {
    const unmet = objectsIn(data.unmet).map(({ kind, name }) =>
      `${textIn(kind) ?? ''} ${textIn(name) ?? ''}`.trim(),
    );
    return `Blocked: ${unmet.length === 0 ? of(data, 'reason') : names(unmet)}`;
  },
  done: ended('Done'),
  partial: ended('Partly done'),
  error: ended('Failed'),
  canceled: ended('Canceled'),
};

function progress(data: JsonObject): string {
  const tool = textIn(data.tool);
  const peer = textIn(data.peer);
  const who = peer === null ? '' : `${peer}: `;
  if (tool !== null && data.phase === 'started') return `${who}${tool} runs`;
  if (tool !== null && data.phase === 'ended')
    return `${who}${tool} ${data.ok === false ? 'failed' : 'ended'} after ${duration(countIn(data.duration_ms) ?? 0)}`;
  if (tool !== null) return `${who}${tool}`;
  if (textIn(data.outcome) !== null) return outcome(data);
  if (textIn(data.guard) !== null) return `Guard ${of(data, 'guard')}: ${of(data, 'level')}`;
  if (typeof data.compaction === 'object') return 'The conversation was made shorter';
  if (typeof data.retry === 'object') return 'The model call is tried again';
  if (typeof data.fallback === 'object') return 'Another model is called';
  if (textIn(data.fetch) !== null) return `Fetch of the repository ${of(data, 'fetch')}`;
  if (textIn(data.set_up) !== null) return `Set-up ${of(data, 'set_up')}`;
  if (textIn(data.state) !== null) return `${who}${of(data, 'state').replaceAll('_', ' ')}`;
  if (countIn(data.step) !== null)
    return `${who}Step ${countIn(data.step)}, ${tokens(data, 'spent_tokens')} so far`;
  return `${who}Progress, ${tokens(data, 'spent_tokens')} so far`;
}

/** How an attempt at a peer ended that left the task without a result. */
function outcome(data: JsonObject): string {
  const peer = textIn(data.peer) ?? 'The peer';
  const why = textIn(data.error) ?? names(textsIn(data.unmet));
  const how =
    data.outcome === 'full'
      ? 'has no free slot'
      : `${data.outcome === 'unreachable' ? 'is ' : ''}${of(data, 'outcome')}`;
  return `${peer} ${how}${why === '' ? '' : `: ${why}`}`;
}
