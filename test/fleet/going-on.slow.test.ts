import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { makeOlder } from '../support/ledger-file.ts';
import { startProfile } from '../support/lone-profile.ts';
import { call, dispatch, message, resultOf, type Target, textMessage } from '../support/rpc.ts';
import { type Briefs, type ScriptedModel, startScriptedModel } from '../support/scripted-model.ts';

const CONTEXT = 'the-work';
const TIMEOUT = { timeout: 200_000 };

interface Sending {
  readonly task?: Record<string, unknown>;
  readonly routing?: Record<string, unknown>;
}

/** Sends a brief in the context, and resolves with its result and the briefs that the model saw in its last request. */
async function send(target: Target, model: ScriptedModel, brief: string, { task, routing }: Sending = {}) {
  const sent = dispatch({ brief, task: { reply_schema: 'prose', ...task }, ...(routing && { routing }) });
  const { body } = await call(target, 'SendMessage', message(sent, { contextId: CONTEXT }));
  assert.ok(body.result, JSON.stringify(body.error));
  return { result: resultOf(body.result.task), saw: model.asked.at(-1) };
}

const configOf = (model: ScriptedModel) => ({
  model: 'openai-compatible/scripted',
  base_url: model.url,
  context_window: 128_000,
});

const lastOf = (briefs: Briefs): string => briefs.at(-1) ?? '';

test(
  'a profile continues a conversation for its caller, after a limit, a cancel and a crash',
  TIMEOUT,
  async (t) => {
    let isDown = false;
    const model = await startScriptedModel(t, (briefs, steps) => {
      if (/wait/.test(lastOf(briefs)) && !isDown) return steps === 0 ? { run: 'echo ran' } : 'silence';
      return /loop/.test(lastOf(briefs))
        ? { run: `echo ${steps}` }
        : { say: `This answers ${lastOf(briefs)}.` };
    });
    const neo = await startProfile(t, {
      name: 'neo',
      config: { ...configOf(model), limits: { max_steps: 3 } },
      callers: { other: { token_env: 'OTHER_TOKEN', scopes: ['dispatch', 'read'] } },
      env: { OTHER_TOKEN: 'token-of-the-test-as-other-0123456789' },
    });
    const other = { url: neo.url, token: 'token-of-the-test-as-other-0123456789' };
    const saw = async (brief: string, how: Sending = {}, as: Target = neo) =>
      (await send(as, model, brief, how)).saw;

    assert.deepEqual(await saw('one'), ['one']);
    assert.deepEqual(await saw('mine', {}, other), ['mine']);
    assert.deepEqual(await saw('two'), ['one', 'two']);
    const limited = await send(neo, model, 'loop');
    assert.notEqual(limited.result.status, 'done');
    assert.deepEqual(await saw('three'), ['one', 'two', 'loop', 'three']);

    const waiting = message(dispatch({ brief: 'wait' }), { contextId: CONTEXT, returnImmediately: true });
    const silent = (count: number) => () =>
      model.asked.filter((briefs) => lastOf(briefs) === 'wait').length === count;
    const { body } = await call(neo, 'SendMessage', waiting);
    await until(silent(2), 'the second step');
    await call(neo, 'CancelTask', { id: body.result.task.id });
    assert.deepEqual(await saw('four'), ['one', 'two', 'loop', 'three', 'wait', 'four']);

    assert.deepEqual(await saw('anew', { task: { fresh: true } }), ['anew']);
    const inline = `TASK DISPATCH (inline)\nfresh: true\nBrief: by hint`;
    assert.ok((await call(neo, 'SendMessage', textMessage(inline, CONTEXT))).body.result);
    assert.deepEqual(model.asked.at(-1), ['by hint']);

    const again = message(dispatch({ brief: 'wait' }), { contextId: CONTEXT, returnImmediately: true });
    await call(neo, 'SendMessage', again);
    await until(silent(4), 'the second step');
    await neo.kill();
    isDown = true;
    await neo.start();
    await until(silent(5), 'the task to resume');
    assert.deepEqual(model.asked.at(-1), ['by hint', 'wait']);
    assert.deepEqual(await saw('five'), ['by hint', 'wait', 'five']);
    assert.deepEqual(await saw('still mine', {}, other), ['mine', 'still mine']);
  },
);

/** The files of a fleet's state folders that contain the text. */
function filesWith(fleet: Fleet, text: string): string[] {
  const dir = join(fleet.dir, 'state');
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((file) => statSync(file).isFile() && readFileSync(file).includes(text));
}

const deleted = async ({ url, token }: Target): Promise<string> => {
  const headers = { authorization: `Bearer ${token}` };
  const reply = await fetch(`${url}/fleet/contexts/${CONTEXT}?results=delete`, { method: 'DELETE', headers });
  return `${reply.status} ${await reply.text()}`;
};

test(
  'a worker continues the conversation of one caller, also behind an orchestrator, until it is deleted or too old',
  TIMEOUT,
  async (t) => {
    const model = await startScriptedModel(t, (briefs) => ({ say: `This answers ${lastOf(briefs)}.` }));
    const fleet = await startFleet(t, ['switch', 'neo'], {
      configYaml: (profile, shipped) =>
        profile === 'switch' ? shipped : stringify({ ...parse(shipped), ...configOf(model) }),
    });
    const operator = fleet.target('switch');
    const trinity = fleet.target('switch', await fleet.tokenOf('trinity', 'switch'));
    const secret = `secret-${randomUUID()}`;
    const routing = { target: 'neo' };
    const saw = async (as: Target, brief: string) => {
      const { result, saw: briefs } = await send(as, model, brief, { routing });
      assert.deepEqual([result.status, result.executed_by], ['done', 'neo'], JSON.stringify(result));
      return briefs;
    };
    assert.deepEqual(await saw(operator, secret), [secret]);
    assert.deepEqual(await saw(operator, 'two'), [secret, 'two']);
    for (const name of ['neo', 'switch']) await fleet.kill(name);
    await fleet.up();
    assert.deepEqual(await saw(operator, 'three'), [secret, 'two', 'three']);

    assert.match(await deleted(operator), /^200 .*"state":"deleted"/);
    assert.deepEqual(filesWith(fleet, secret), []);
    assert.deepEqual(await saw(operator, 'four'), ['four']);

    assert.deepEqual(
      await saw(trinity, 'mine'),
      ['mine'],
      'another caller of switch, and the same caller of neo',
    );
    assert.deepEqual(await saw(operator, 'five'), ['four', 'five']);
    assert.deepEqual(await saw(trinity, 'still mine'), ['mine', 'still mine']);

    await until(
      async () => /^fleet_outbox_backlog 0$/m.test(await fleet.metrics('neo')),
      'the events of neo',
    );
    await fleet.terminate('neo');
    makeOlder(join(fleet.dir, 'state/neo/ledger.db'), 31);
    await fleet.up();
    await until(() => fleet.log('neo').includes('finished tasks removed'), 'the retention');
    assert.deepEqual(await saw(operator, 'six'), ['six']);
  },
);
