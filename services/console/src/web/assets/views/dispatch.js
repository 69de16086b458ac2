/**
 * The fields of a dispatch as a person fills them in, and the TASK_DISPATCH that they make (docs/handshake.md#task_dispatch).
 *
 * @typedef {object} Fields
 * @property {string} brief
 * @property {string} taskId
 * @property {string} priority
 * @property {string} budget
 * @property {string} deadline In minutes from now.
 * @property {string} target
 * @property {string} repository Empty: none.
 * @property {string} base Empty: as the worker has it configured.
 * @property {string} mcp Names with commas between them.
 * @property {string} capabilities The same.
 * @property {string} minTier
 * @property {string} minWindow
 * @property {string} replySchema
 * @property {string} write Empty: as the requirements say.
 * @property {string} onBlocked
 */

/** @type {Fields} */
export const EMPTY = {
  brief: '',
  taskId: '',
  priority: 'normal',
  budget: '',
  deadline: '',
  target: 'auto',
  repository: '',
  base: '',
  mcp: '',
  capabilities: '',
  minTier: '',
  minWindow: '',
  replySchema: 'prose',
  write: '',
  onBlocked: '',
};

/** @param {string} text */
const names = (text) => text.split(/[\s,]+/).filter(Boolean);

const REPOSITORY = 'repository:';

/** The names of the repositories among the capabilities of a peer. @param {readonly string[]} tools */
export const repositoriesOf = (tools) =>
  tools.filter((tool) => tool.startsWith(REPOSITORY)).map((tool) => tool.slice(REPOSITORY.length));

/**
 * @param {Fields} fields
 * @param {number} now
 * @returns {Record<string, unknown>} Empty fields are left out.
 */
export function dispatchOf(fields, now) {
  const mcp = names(fields.mcp);
  const { repository, base } = fields;
  // Profiles of earlier releases ignore the repository, and know what it requires only if the dispatch says so.
  const capabilities = [
    ...names(fields.capabilities),
    ...(repository === '' ? [] : [REPOSITORY + repository]),
  ];
  const requirements = {
    ...(mcp.length > 0 ? { required_mcp: mcp } : {}),
    ...(capabilities.length > 0 ? { required_capabilities: capabilities } : {}),
    ...(fields.minTier === '' ? {} : { model_tier: { min: fields.minTier } }),
    ...(fields.minWindow === '' ? {} : { min_context_window: Number(fields.minWindow) }),
  };
  return {
    type: 'TASK_DISPATCH',
    protocol_version: '2.0',
    task: {
      task_id: fields.taskId.trim() || `console-${crypto.randomUUID()}`,
      priority: fields.priority,
      reply_schema: fields.replySchema,
      ...(fields.budget === '' ? {} : { token_budget: Number(fields.budget) }),
      ...(repository === '' ? {} : { repository: { name: repository, ...(base === '' ? {} : { base }) } }),
      ...(fields.write === '' ? {} : { write: fields.write === 'true' }),
    },
    ...(Object.keys(requirements).length > 0 ? { requirements } : {}),
    ...(fields.deadline === ''
      ? {}
      : { deadline: new Date(now + Number(fields.deadline) * 60_000).toISOString() }),
    brief: fields.brief,
    routing: { target: fields.target, ...(fields.onBlocked === '' ? {} : { on_blocked: fields.onBlocked }) },
  };
}

/** What is wrong with the fields, by their name; empty when nothing is. @param {Fields} fields @returns {Record<string, string>} */
export function faultsOf({ brief, budget, deadline, minWindow, repository, base }) {
  /** @type {Record<string, string>} */
  const faults = {};
  if (brief.trim() === '') faults['brief'] = 'Say what is to be done.';
  for (const [name, value] of Object.entries({ budget, minWindow }))
    if (value !== '' && !/^[1-9]\d{0,8}$/.test(value))
      faults[name] = 'A whole number of tokens, such as 20000, or nothing.';
  if (base !== '' && repository === '') faults['base'] = 'Choose its repository, or nothing.';
  if (deadline !== '' && !(Number(deadline) > 0 && Number(deadline) <= 525_600))
    faults['deadline'] = 'Minutes from now, such as 30, or nothing.';
  return faults;
}
