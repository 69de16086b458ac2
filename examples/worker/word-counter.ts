/** A worker that joins the fleet by announcing itself, and counts the words of a brief (examples/README.md). */
import { randomUUID } from 'node:crypto';
import fastify from 'fastify';

// biome-ignore lint/suspicious/noExplicitAny: an example in one page checks no schema; a real worker does
type Json = Record<string, any>;
const { FLEET_URL = 'http://127.0.0.1:9219', FLEET_TOKEN, WORKER_TOKEN, PORT = '9230' } = process.env;
if (!FLEET_TOKEN || !WORKER_TOKEN) throw new Error('set FLEET_TOKEN and WORKER_TOKEN (examples/README.md)');
const url = `http://127.0.0.1:${PORT}/jsonrpc`;
const versions = { protocol_versions: ['2.0'] };
const tools = ['count_words'];
/** Tasks by task_id. A copy of a dispatch is the same task, and is done once; a real worker keeps them on a disk. */
const tasks = new Map<string, Json>();

function announce(contextId = 'handshake:hermes-switch', role = 'ROLE_USER'): Json {
  const worker = { agent_id: 'counter', model: 'none', model_tier: 'haiku', context_window: 200_000 };
  const repo_state = { branch: 'main', clean: true };
  const session = { context_id: contextId, active_tasks: 0, session_fresh: tasks.size === 0, repo_state };
  const own = { worker, session, capabilities: { tools, mcp_servers: [] }, mcp_health: {}, ttl_s: 30 };
  const data = { type: 'SESSION_ANNOUNCE', protocol_version: '2.0', ...versions, endpoint: url, ...own };
  return { message: { messageId: randomUUID(), contextId, role, parts: [{ data }] } };
}

/** Does what a dispatch asks for, or blocks it before any work if a requirement is not met. */
function work({ task, requirements, brief }: Json, contextId = randomUUID()): Json {
  const required = [requirements?.required_capabilities ?? [], requirements?.required_mcp ?? []].flat();
  const missing = required.filter((name) => !tools.includes(name));
  const words = brief.split(/\s+/).filter(Boolean).length;
  const outcome = missing.length
    ? { status: 'blocked', blocked_reason: `counter has no ${missing.join(', no ')}` }
    : { status: 'done', blocked_reason: null, text: `${words} words`, output: { words } };
  const spent = { tokens_spent: 0, next_steps: [], artifacts: { files_changed: [] }, executed_by: 'counter' };
  const data = { type: 'TASK_RESULT', protocol_version: '2.0', task_id: task.task_id, ...outcome, ...spent };
  const state = missing.length ? 'TASK_STATE_REJECTED' : 'TASK_STATE_COMPLETED';
  const artifacts = [{ artifactId: 'task-result', name: 'task-result', parts: [{ data }] }];
  return { id: randomUUID(), contextId, status: { state, timestamp: new Date() }, artifacts };
}

function answer(method: string, params: Json): Json {
  const known = [...tasks.values()].find(({ id }) => id === params.id);
  if (method === 'GetTask')
    return known ? { result: known } : { error: { code: -32001, message: 'unknown' } };
  if (method !== 'SendMessage') return { error: { code: -32004, message: `cannot answer ${method}` } };
  const { contextId, parts } = params.message;
  const data = parts.find((part: Json) => part.data)?.data;
  if (data?.type !== 'TASK_DISPATCH') return { result: announce(contextId, 'ROLE_AGENT') };
  const task = tasks.get(data.task.task_id) ?? work(data, contextId);
  tasks.set(data.task.task_id, task);
  return { result: { task } };
}

const app = fastify();
app.get('/.well-known/agent-card.json', () => ({
  ...{ name: 'counter', description: 'Counts words.', version: '1.0.0', skills: [] },
  capabilities: { extensions: [{ uri: 'urn:hermes-fleet:handshake:2', params: versions }] },
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
}));
app.post<{ Body: Json }>('/jsonrpc', ({ body, headers }, reply) => {
  if (headers.authorization !== `Bearer ${WORKER_TOKEN}`) return reply.code(401).send();
  return reply.send({ jsonrpc: '2.0', id: body.id, ...answer(body.method, body.params) });
});
await app.listen({ host: '127.0.0.1', port: Number(PORT) });

// Announces this worker to switch, which gives it work until 30 s after its last announce.
const headers = { authorization: `Bearer ${FLEET_TOKEN}`, 'content-type': 'application/json' };
for (;;) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: announce() });
  const reply = fetch(`${FLEET_URL}/jsonrpc`, { method: 'POST', headers, body }).then((got) => got.text());
  process.stdout.write(`switch answers: ${await reply.catch(String)}\n`);
  await new Promise((resolve) => setTimeout(resolve, 10_000));
}
