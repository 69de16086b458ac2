import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { shell } from '../support/agent-work.ts';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { untilSeen } from '../support/peers-view.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';
import { shareWithCommands, usersRepository } from '../support/users-repository.ts';

const WORKER = 'neo';

const send = async (fleet: Fleet, to: string, brief: string) => {
  const routing = { target: WORKER };
  const { body } = await call(fleet.target(to), 'SendMessage', message(dispatch({ brief, routing })));
  return resultOf(body.result?.task);
};

test('in place: write tasks are done one after the other, and none waits for what only a person can change', async (t) => {
  const repository = usersRepository(t);
  shareWithCommands(repository);
  const there = (file: string): string => join(repository.path, file);
  const fleet = await startFleet(t, ['switch', WORKER], {
    inProcess: true,
    configYaml: (name, shipped) =>
      name === WORKER
        ? stringify({ ...parse(shipped), workspace: { path: repository.path, isolation: 'in_place' } })
        : shipped,
  });
  const isClean = (wanted: boolean) => (peer: { announce: { repo_state: { clean: boolean } } | null }) =>
    peer.announce?.repo_state.clean === wanted;

  for (const to of [WORKER, 'switch'])
    await t.test(`two write tasks at once, sent to ${to}`, async () => {
      const briefs = ['a', 'b'].map((file) => shell(`echo 1 > ${to}-${file}.txt`, 'sleep 0.5'));
      const results = await Promise.all(briefs.map((brief) => send(fleet, to, brief)));
      assert.deepEqual(
        results.map(({ status, artifacts }) => [status, artifacts.files_changed]),
        ['a', 'b'].map((file) => ['done', [`${to}-${file}.txt`]]),
        JSON.stringify(results),
      );
    });

  await t.test('through switch, a write task waits for the one that has made the tree dirty', async () => {
    await untilSeen(fleet.target('switch'), WORKER, isClean(true), 'with a clean tree');
    const first = send(
      fleet,
      'switch',
      shell('echo 1 > first.txt', 'while [ ! -e .go ]; do sleep 0.1; done; rm .go'),
    );
    await untilSeen(fleet.target('switch'), WORKER, isClean(false), 'with a dirty tree');
    const second = send(fleet, 'switch', shell('echo 1 > second.txt'));
    const waiting = async (): Promise<boolean> =>
      /^fleet_queue_depth\{queue="waiting"\} 1$/m.test(await fleet.metrics('switch'));
    await until(waiting, 'the second task to wait');
    writeFileSync(there('.go'), '');
    const files = (await Promise.all([first, second])).map(({ status, artifacts }) => [
      status,
      artifacts.files_changed,
    ]);
    assert.deepEqual(files, [
      ['done', ['first.txt']],
      ['done', ['second.txt']],
    ]);
  });

  await t.test(
    'changes of a person have a write task refused at once, with the tree, the files and the remedy',
    async () => {
      writeFileSync(there('mine.txt'), 'not committed');
      await untilSeen(fleet.target('switch'), WORKER, isClean(false), 'with a dirty tree');
      // A task that only reads ends none of them.
      const reading = call(
        fleet.target(WORKER),
        'SendMessage',
        message(
          dispatch({
            brief: shell('while [ ! -e .scratch/go ]; do sleep 0.1; done'),
            task: { write: false },
            routing: { target: WORKER },
          }),
        ),
      );
      await until(
        async () => /^fleet_tasks_in_flight 1$/m.test(await fleet.metrics(WORKER)),
        'the reading task to run',
      );
      for (const to of [WORKER, 'switch']) {
        const { status, tokens_spent, unmet, blocked_reason } = await send(
          fleet,
          to,
          shell('echo 1 > never.txt'),
        );
        assert.deepEqual([status, tokens_spent, unmet[0]?.transient], ['blocked', 0, false], blocked_reason);
        assert.match(blocked_reason, /dirty.*commit or stash the changes.*write: false/);
        if (to === WORKER)
          assert.match(
            blocked_reason,
            new RegExp(`${repository.path} is dirty \\(branch main; changed: mine\\.txt\\)`),
          );
      }
      mkdirSync(there('.scratch'), { recursive: true });
      writeFileSync(there('.scratch/go'), '');
      await reading;
      assert.equal(existsSync(there('never.txt')), false);
      rmSync(there('mine.txt'));
      assert.equal(
        (await send(fleet, WORKER, shell('echo 1 > after.txt'))).status,
        'done',
        'as soon as it is clean',
      );
    },
  );
});
