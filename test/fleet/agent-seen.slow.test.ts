import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { until } from '../support/fleet.ts';
import { startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';
import { SOURCE_CONFIG } from '../support/source-config.ts';

test("a profile starts with the source document's config.yaml, and its log says which keys do nothing", async (t) => {
  const profile = await startProfile(t, {
    name: 'neo',
    config: parse(SOURCE_CONFIG),
    env: { ANTHROPIC_API_KEY: 'sk-of-a-test-that-calls-nobody' },
  });
  for (const key of ['defaultAgent', 'a2a.port', 'tools.tasks', 'tools.introspection', 'tools.models'])
    await until(
      () => profile.log().includes(`config.yaml ${key} has no effect here`),
      `the line about ${key}`,
    );
  assert.doesNotMatch(profile.log(), /sk-of-a-test/);
});

test('calls of tools and interventions of guards are counted', async (t) => {
  const profile = await startProfile(t, { name: 'neo' });
  const CODE = '```main.py\nprint(1)\n```\n';
  const MISSING = '```tool read_file\n{"path":"nothing.txt"}\n```\n';
  for (const brief of [CODE, MISSING]) {
    const { body } = await call(profile, 'SendMessage', message(dispatch({ brief, task: { write: true } })));
    assert.notEqual(resultOf(body.result.task)?.status, 'done', 'nothing was verified, or read');
  }
  const metrics = await (await fetch(`${profile.url}/metrics`)).text();
  const value = (series: string): number =>
    Number(
      metrics
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1],
    );
  assert.equal(value('fleet_tool_calls_total{tool="write_file",result="ok"}'), 1);
  assert.equal(value('fleet_tool_calls_total{tool="read_file",result="error"}'), 1);
  assert.ok(value('fleet_guard_interventions_total{guard="verify",level="warn"}') >= 1, metrics);
});
