import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFleet } from '../support/fleet.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

test('a command of the agent reads neither the token, nor the ledger, nor the environment of its gateway', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo'], {
    env: { A_SECRET_OF_THE_GATEWAY: 'visible-to-nobody-else' },
  });
  const neo = fleet.target('neo');
  const keys = join(fleet.dir, 'keys/neo');
  const state = join(fleet.dir, 'state/neo');
  const { pid } = fleet.process('neo');
  assert.ok(readdirSync(keys).length > 0);
  assert.ok(readdirSync(state).includes('ledger.db'), readdirSync(state).join());

  const ready = await fetch(`${new URL(neo.url).origin}/ready`);
  const { dependencies } = JSON.parse(await ready.text());
  assert.match(dependencies.commands.detail, /^shell commands run confined by (bubblewrap|uid)/);

  const forbidden = [
    `cat ${keys}/*`,
    `ls ${keys}`,
    `cat ${join(fleet.dir, 'keys/operator/token')}`,
    `cat ${state}/ledger.db`,
    `ls ${state}`,
    `cat /proc/${pid}/environ`,
    'cat /proc/*/environ | tr "\\0" "\\n" | grep A_SECRET_OF_THE_GATEWAY',
    'env | grep -i -e TOKEN -e SECRET -e PASSWORD',
    `kill -0 ${pid}`,
  ];
  for (const command of forbidden) {
    const { body } = await call(
      neo,
      'SendMessage',
      message(
        dispatch({ brief: runbook('a.txt', 'a', `if ${command}; then echo REACHED; else echo DENIED; fi`) }),
      ),
    );
    const result = resultOf(body.result.task);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.match(result.text, /DENIED/, `${command}: ${result.text}`);
    assert.doesNotMatch(result.text, /REACHED\n|visible-to-nobody-else/, command);
  }

  const { body } = await call(
    neo,
    'SendMessage',
    message(
      dispatch({
        brief: runbook('a.txt', 'a', 'id -u', 'git status --porcelain', 'echo written > b.txt', 'cat b.txt'),
      }),
    ),
  );
  const result = resultOf(body.result.task);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.deepEqual(result.artifacts.files_changed.sort(), ['a.txt', 'b.txt']);
});
