import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFleet } from '../support/fleet.ts';
import { startProfile } from '../support/lone-profile.ts';
import { decision } from '../support/lone-trader.ts';
import { type CollectedSpan, startCollector } from '../support/otlp-collector.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const BRIEF = [
  '```sh\necho secret-brief\n```',
  '```tool mcp__filesystem__list_allowed_directories\n{}\n```',
].join('\n');

test('a task has one trace, from its caller through switch to the worker', async (t) => {
  const collector = await startCollector(t);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' };
  const fleet = await startFleet(t, ['switch', 'neo', 'trader'], { env, mcpServers: ['filesystem'] });
  const sent = dispatch({ brief: BRIEF, routing: { target: 'neo' } });
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
  const { body } = await call(fleet.target('switch'), 'SendMessage', message(sent), headers);
  assert.equal(resultOf(body.result.task).executed_by, 'neo');

  const find = (service: string, name: string, parent: string): Promise<CollectedSpan> =>
    collector.find(
      `${name} of ${service}`,
      (span) =>
        span.service === service &&
        span.name === name &&
        span.traceId === TRACE &&
        span.parentSpanId === parent,
    );
  const request = await find('switch', 'POST /jsonrpc', CALLER);
  assert.equal(request.kind, 2);
  assert.equal(request.attributes['rpc.method'], 'SendMessage');
  assert.equal(request.attributes['hermes.caller'], 'operator');
  await find('switch', 'admit', request.spanId);
  await find('switch', 'wait', request.spanId);
  const relayed = await find('switch', 'run', request.spanId);
  const searched = await find('switch', 'route', relayed.spanId);
  assert.equal(searched.attributes['hermes.peer'], 'neo');
  assert.match(String(searched.attributes['hermes.route.considered']), /neo: chosen/);
  const attempt = await find('switch', 'dispatch neo', relayed.spanId);
  assert.deepEqual([attempt.kind, attempt.attributes['hermes.attempt.outcome']], [3, 'done']);
  const received = await find('neo', 'POST /jsonrpc', attempt.spanId);
  await find('neo', 'admit', received.spanId);
  await find('neo', 'wait', received.spanId);
  const run = await find('neo', 'run', received.spanId);
  assert.equal(run.attributes['hermes.task.state'], 'done');
  const step = await find('neo', 'chat offline/runbook', run.spanId);
  assert.equal(step.kind, 3);
  assert.equal(step.attributes['gen_ai.operation.name'], 'chat');
  assert.ok(Number(step.attributes['gen_ai.usage.input_tokens']) > 0);
  const tool = await find('neo', 'execute_tool shell_exec', run.spanId);
  assert.equal(tool.attributes['hermes.tool.ok'], true);
  for (const git of ['git open', 'git begin', 'git commit']) await find('neo', git, run.spanId);
  const reading = await find('neo', 'execute_tool mcp__filesystem__list_allowed_directories', run.spanId);
  const asked = await find('neo', 'tools/call list_allowed_directories', reading.spanId);
  assert.deepEqual([asked.kind, asked.attributes['hermes.mcp.server']], [3, 'filesystem']);
  for (const [service, of] of [
    ['switch', request],
    ['neo', received],
  ] as const) {
    const published = await collector.find(
      `of an event of ${service}`,
      (span) => span.service === service && span.links.includes(`${TRACE}-${of.spanId}`),
    );
    assert.deepEqual([published.kind, published.parentSpanId], [4, undefined]);
    assert.notEqual(published.traceId, TRACE);
  }

  const asking = decision({ reason: 'secret-reason', requested_at: new Date().toISOString() });
  const decided = await call(fleet.target('trader'), 'apply_control_decision', asking, headers);
  assert.equal(decided.body.result.status, 'applied', JSON.stringify(decided.body));
  const ofTrader = await find('trader', 'POST /jsonrpc', CALLER);
  const judged = await find('trader', 'decide', ofTrader.spanId);
  assert.equal(judged.attributes['hermes.decision.status'], 'applied');
  assert.equal(judged.attributes['hermes.transport'], 'jsonrpc');
  await collector.find(
    'of the event of the decision',
    ({ service, links }) => service === 'trader' && links.includes(`${TRACE}-${ofTrader.spanId}`),
  );

  assert.doesNotMatch(JSON.stringify(collector.spans), /secret-(brief|reason)/);
  assert.deepEqual(
    collector.spans.filter(({ name }) => /health|ready|metrics/.test(name)),
    [],
  );
});

test('a profile without traces loads neither the SDK nor the exporter of OpenTelemetry', async (t) => {
  const list =
    'import{registerHooks}from"node:module";registerHooks({load:(url,c,next)=>{console.error(url);return next(url,c)}})';
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(list)}`;
  const profile = await startProfile(t, { env: { NODE_OPTIONS, OTEL_EXPORTER_OTLP_ENDPOINT: '' } });
  const loaded = profile.log().split('\n');
  assert.ok(loaded.some((url) => url.endsWith('/open-tracing.ts')));
  // prom-client loads the API package.
  assert.deepEqual(
    loaded.filter((url) => /\/otlp-tracing\.ts$|\/@opentelemetry\/(?!api\/)/.test(url)),
    [],
  );
});
