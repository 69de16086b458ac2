import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/ports';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { openTracing } from './open-tracing.ts';
import { readTracingSettings } from './settings.ts';

const SAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const UNSAMPLED = SAMPLED.replace(/01$/, '00');

/** Answers each export with this status, or never; `names` are those of the spans. */
async function collector(t: TestContext, status: number | 'never') {
  const names: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    for (const { scopeSpans } of JSON.parse(text).resourceSpans)
      for (const { spans } of scopeSpans) for (const { name } of spans) names.push(name);
    if (status !== 'never') response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { names, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function open(env: Record<string, string>, log = silentLog) {
  const tracing = await openTracing(env, { name: 'neo', version: '0', log });
  assert.ok(tracing);
  return tracing;
}

test('traces are off without an endpoint, and where a variable says so', () => {
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318/' };
  assert.equal(readTracingSettings(on)?.url, 'http://localhost:4318/v1/traces');
  for (const off of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_TRACES_SAMPLER: 'always_on' },
    { ...on, OTEL_SDK_DISABLED: 'true' },
    { ...on, OTEL_TRACES_EXPORTER: 'none' },
  ])
    assert.equal(readTracingSettings(off), undefined);
});

test('a variable that cannot be used is an error with its name', () => {
  for (const [name, value] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
  ] as const) {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318', [name]: value };
    // An address may hold a key.
    const said = name.endsWith('ENDPOINT') ? 'is no http address' : `"${value}"`;
    assert.throws(() => readTracingSettings(env), new RegExp(`${name}: ${said}`));
  }
});

test('a caller decides for its trace, unless the sampler says otherwise', async (t) => {
  for (const [sampler, expected] of [
    ['', ['sampled', 'new']],
    ['always_on', ['sampled', 'unsampled', 'new']],
    ['parentbased_always_off', ['sampled']],
    ['always_off', []],
  ] as const) {
    const { names, ...env } = await collector(t, 200);
    const tracing = await open({ ...env, OTEL_TRACES_SAMPLER: sampler });
    tracing.start('sampled', { parent: SAMPLED }).end();
    tracing.start('unsampled', { parent: UNSAMPLED }).end();
    tracing.start('new', { parent: 'garbage' }).end();
    await tracing.close();
    assert.deepEqual(names, expected, sampler);
  }
});

test('a sampler by ratio exports its share of the traces', async (t) => {
  // By the ID of the trace, so that every member decides the same: the first is in the lower half of all IDs.
  const low = UNSAMPLED.replace(/-\w{32}-/, `-${'1'.padStart(32, '0')}-`);
  const high = SAMPLED.replace(/-\w{32}-/, `-${'f0000000'.padStart(32, '0')}-`);
  for (const [sampler, share, expected] of [
    ['traceidratio', '0', []],
    ['traceidratio', '0.5', ['low']],
    ['traceidratio', '1', ['low', 'high', 'new']],
    ['parentbased_traceidratio', '0', ['high']],
    ['parentbased_traceidratio', '1', ['high', 'new']],
  ] as const) {
    const { names, ...env } = await collector(t, 200);
    const tracing = await open({ ...env, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share });
    tracing.start('low', { parent: low }).end();
    tracing.start('high', { parent: high }).end();
    if (share !== '0.5') tracing.start('new').end();
    await tracing.close();
    assert.deepEqual(names, expected, `${sampler} ${share}`);
  }
});

test('a span continues the trace of its parent, also where it is not exported', async (t) => {
  const { names: _names, ...env } = await collector(t, 200);
  const tracing = await open(env);
  assert.match(
    tracing.start('a', { parent: SAMPLED }).traceparent,
    /^00-0af7651916cd43dd8448eb211c80319c-.{16}-01$/,
  );
  assert.match(
    tracing.start('a', { parent: UNSAMPLED }).traceparent,
    /^00-0af7651916cd43dd8448eb211c80319c-.{16}-00$/,
  );
  await tracing.close();
});

test('a collector that refuses or does not answer costs one warning, and does not hold up the stop', async (t) => {
  const log = recordingLog();
  const { names, ...env } = await collector(t, 400);
  const tracing = await open({ ...env, OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1' }, log);
  for (let n = 0; n < 3; n += 1) tracing.start('a').end();
  await tracing.close();
  assert.equal(names.length, 3);
  assert.equal(log.messages.filter((line) => /^warn: traces are not exported/.test(line)).length, 1);

  const { names: _names, ...silent } = await collector(t, 'never');
  const hanging = await open(silent);
  hanging.start('a').end();
  const startedAt = performance.now();
  await hanging.close();
  assert.ok(performance.now() - startedAt < 6_000);
});
