/**
 * What the form of Send begins with: nothing, or fields from elsewhere. It lives in the memory of this page, so that a brief
 * is in no address and in no history.
 *
 * @typedef {object} Draft
 * @property {Partial<import('./dispatch.js').Fields>} fields
 * @property {string} [again] The task_id that is sent again.
 */

/** @type {Draft | null} */
let draft = null;

/** @param {Draft} given */
export function keepDraft(given) {
  draft = given;
}

/** @param {unknown} value */
const text = (value) => (typeof value === 'string' ? value : '');
/** @param {unknown} value @param {readonly string[]} [without] */
const list = (value, without = []) =>
  Array.isArray(value)
    ? value.filter((item) => typeof item === 'string' && !without.includes(item)).join(', ')
    : '';

/**
 * @param {import('../../../http/task-page.ts').TaskDocument} document Its event `submitted` has the requirements (docs/events.md).
 * @param {string} brief
 */
export function keepTaskAgain({ task, timeline }, brief) {
  const submitted = timeline.find(
    ({ type, profile, id }) => type === 'submitted' && profile === task.profile && id === task.id,
  );
  const data = submitted?.data ?? {};
  const { name, base } = /** @type {Record<string, unknown>} */ (data['repository'] ?? {});
  const repository = text(name);
  draft = {
    again: task.task_id,
    fields: {
      brief,
      priority: task.priority ?? 'normal',
      budget: task.budget_tokens === null ? '' : String(task.budget_tokens),
      target: text(data['target']) || 'auto',
      repository,
      base: text(base),
      mcp: list(data['required_mcp']),
      capabilities: list(data['required_capabilities'], [`repository:${repository}`]),
      minTier: text(data['min_tier']),
      minWindow: typeof data['min_context_window'] === 'number' ? String(data['min_context_window']) : '',
      // The form has no JSON schema, which `json` needs.
      replySchema: ['structured', 'json'].includes(text(data['reply_schema'])) ? 'structured' : 'prose',
      onBlocked: text(data['on_blocked']),
      deadline: minutesBetween(task.submitted_at, text(data['deadline'])),
      write: typeof data['write'] === 'boolean' ? String(data['write']) : '',
    },
  };
}

/**
 * As much time as the task had from its start.
 * @param {string} from
 * @param {string} until
 */
function minutesBetween(from, until) {
  const minutes = Math.ceil((Date.parse(until) - Date.parse(from)) / 60_000);
  return minutes > 0 ? String(minutes) : '';
}

/** The draft, once. @returns {Draft | null} */
export function takeDraft() {
  const taken = draft;
  draft = null;
  return taken;
}
