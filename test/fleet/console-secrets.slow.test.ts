import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { consume } from '@hermes-fleet/events';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import type { ContentDocument } from '../../services/console/src/http/content.ts';
import type { TasksDocument } from '../../services/console/src/http/task-list.ts';
import { ownTask, shell, tool } from '../support/agent-work.ts';
import { signIn, untilCaughtUp } from '../support/console.ts';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { resultsOf, sendRoot } from '../support/ledger-traffic.ts';
import { decision } from '../support/lone-trader.ts';
import { call, dispatch } from '../support/rpc.ts';

/** Every secret word of the test has this in it; what is not secret has not. */
const CANARY = 'canary';
/** Each kind of content has a word of its own, so that a failure says which one got out. */
const word = (kind: string): string => `${CANARY}-${kind}`;

/** All messages on NATS, with their subjects. */
async function readBus(fleet: Fleet): Promise<string[]> {
  const messages: string[] = [];
  for (const filter of ['fleet.task.>', 'fleet.control.>', 'fleet.announce.>', 'fleet.audit.>'])
    await consume({
      ...{
        connection: fleet.bus,
        filter,
        fromStart: true,
        untilEnd: true,
        log: silentLog,
        clock: systemClock,
      },
      signal: AbortSignal.timeout(60_000),
      onEvent: (event, { subject }) => void messages.push(`${subject} ${JSON.stringify(event)}`),
      onSkipped: (reason, { subject }) => assert.fail(`${subject}: ${reason}`),
    });
  return messages;
}

test('no word of a brief, a tool, a question, an answer or a file is on NATS or with the console', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo', 'trader', 'console']);
  const browser = await signIn(fleet);
  const asking = [
    `Do ${word('brief')}.`,
    tool('ask_caller', { question: `${word('question')}?` }),
    `\`\`\`note.txt\n${word('file')}\n\`\`\``,
    shell(`echo ${word('input')}`, `echo ${CANARY} | tr a-z A-Z | sed s/$/-OUTPUT/`, `ls ${word('failure')}`),
    tool('read_file', { path: `${word('path')}.txt` }),
  ].join('\n\n');
  const root = await sendRoot(
    fleet,
    'switch',
    dispatch({ taskId: 'plain-name', brief: asking, routing: { target: 'neo' } }),
  );
  const isAsked = async () =>
    (await call(fleet.target('switch'), 'GetTask', { id: root.id })).body.result?.status.state ===
    'TASK_STATE_INPUT_REQUIRED';
  await until(isAsked, 'the question');
  await browser.ask('POST', '/api/token', { token: fleet.operatorToken });
  const at = `/api/tasks/switch/${root.id}`;
  const { question } = await browser.json<ContentDocument>(`${at}/content`);
  assert.equal(question, `${word('question')}?`, 'with a token, the console reads it from the profile');
  assert.equal((await browser.ask('POST', `${at}/answer`, { text: word('answer') })).status, 202);
  const delegating = ownTask([
    `Have ${word('delegated')} done.`,
    tool('fleet_send', {
      agent: 'neo',
      brief: `Do ${word('part')}.\n\n${shell(`echo ${word('part-input')}`)}`,
    }),
  ]);
  const parent = await sendRoot(fleet, 'switch', delegating);
  const [result] = await resultsOf(fleet, [root, parent]);
  assert.match(JSON.stringify(result), /CANARY-OUTPUT/, 'the work is done');
  // A caller that names something that the fleet does not have.
  await sendRoot(
    fleet,
    'switch',
    dispatch({ brief: word('blocked'), requirements: { required_mcp: ['nope'] } }),
  );

  const reason = { reason: word('reason'), requested_at: new Date().toISOString() };
  const decided = await call(fleet.target('trader'), 'apply_control_decision', decision(reason));
  assert.equal(decided.body.result.status, 'applied', JSON.stringify(decided.body));

  const knows = async () => {
    const { tasks } = await browser.json<TasksDocument>(
      '/api/tasks?parts=true&state=done,partial,blocked,error',
    );
    return tasks.length >= 5;
  };
  await until(knows, 'the ends of all tasks in the console');
  await untilCaughtUp(browser);
  const messages = await readBus(fleet);
  for (const type of ['input_required', 'answered', 'delegated', 'blocked', 'progress'])
    assert.ok(
      messages.some((message) => message.includes(`.${type} `)),
      type,
    );
  for (const known of ['shell_exec', 'plain-name', 'control.applied'])
    assert.ok(
      messages.some((message) => message.includes(known)),
      known,
    );
  const found = (text: string): string[] => [...new Set(text.match(/[^\s"]*canary[^\s"]*/gi))];
  assert.deepEqual(found(messages.join('\n')), [], 'on NATS');

  await fleet.terminate('console');
  const files = globSync('{state/console,logs}/**/console*', { cwd: fleet.dir }).map((file) =>
    join(fleet.dir, file),
  );
  const stored = files.map((file) => readFileSync(file, 'latin1')).join('\n');
  assert.ok(stored.includes('plain-name'), 'the read model is there');
  assert.deepEqual(found(stored), [], 'in the files of the console');
});
