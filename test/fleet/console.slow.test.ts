import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  accessibilityFaults,
  closeBrowser,
  needsChromium,
} from '../../services/console/testing/web/browser.ts';
import { openLink } from '../support/console.ts';
import { openConsole, openView } from '../support/console-pages.ts';
import { PROFILES, ROOT, runProgram, startFleet } from '../support/fleet.ts';
import { MARKUP, sendMixedTraffic } from '../support/mixed-traffic.ts';
import { call, dispatch, message, runbook } from '../support/rpc.ts';

after(closeBrowser);

const CLI = join(ROOT, 'libs/cli/src/main.ts');

test('every view over a live fleet with mixed traffic, which goes on while NATS, a profile and the console itself restart', {
  ...needsChromium,
  timeout: 600_000,
}, async (t) => {
  const fleet = await startFleet(t, [...PROFILES, 'trader', 'console'], {
    mcpServers: ['filesystem', 'memory'],
  });
  const cli = (...args: string[]) => runProgram(process.execPath, [CLI, ...args, '--dir', fleet.dir]);
  const link = (await cli('console')).stdout.trim();
  const { page, faults } = await openConsole(t, link);
  await page.getByText('No task yet.').waitFor();

  const ids = await sendMixedTraffic((profile) => fleet.target(profile));
  const row = (name: string) => page.getByRole('row', { name: new RegExp(name) });
  const tab = (name: string) =>
    page.getByRole('navigation', { name: 'States' }).getByRole('link', { name }).waitFor();

  await t.test('a link opens the console once', async () => {
    assert.ok(link.startsWith(`${fleet.plan.console.url}/login?code=`), link);
    assert.equal((await openLink(link)).browser, undefined);
  });

  await t.test('the list has followed every task without a reload', async () => {
    for (const [name, state] of Object.entries({
      'release-notes': 'done',
      'triage-issues': 'blocked',
      'too-late': 'error',
      'not-needed': 'canceled',
      'which-region': 'asks',
      'nightly-build': 'running',
    }))
      await row(name).getByText(state, { exact: true }).first().waitFor();
    await row('nightly-build').getByText('shell_exec').waitFor();
    await row('nightly-build')
      .getByText(/^Tokens: [1-9][\d,]* \/ 40K$/)
      .waitFor();
    await row('triage-issues').getByText('mcp', { exact: true }).waitFor();
    for (const name of ['All 14', 'Running 1', 'Asks 1', 'Done 4', 'Blocked 5', 'Error 2', 'Canceled 1'])
      await tab(name);
  });

  await t.test('a task is told across services, and its brief and result stay text', async () => {
    await openView(page, `tasks/switch/${ids.get('both-halves')}`);
    await page.getByText('Sent to neo, attempt 1 (a part)').waitFor();
    await page.locator('.entry', { hasText: 'write_file ended' }).getByText('neo').waitFor();
    await page
      .getByRole('row', { name: /Level 1: neo/ })
      .getByText('done')
      .waitFor();
    await page
      .getByRole('row', { name: /Level 1: morpheus/ })
      .getByText('done')
      .waitFor();

    await openView(page, `tasks/switch/${ids.get('port-parser-tests')}`);
    await page.getByText('chosen', { exact: true }).waitFor();
    await page.getByRole('cell', { name: 'takes no tasks' }).waitFor();
    await page.getByRole('button', { name: 'Show them with my token' }).click();
    await page.getByRole('dialog').getByLabel('Token').fill(fleet.operatorToken);
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'Brief' }).getByText(MARKUP).waitFor();
    await page.getByRole('group', { name: 'Result' }).getByText(MARKUP).waitFor();
    assert.equal(await page.locator('main img, main b').count(), 0);
  });

  await t.test('the other views say what the fleet did', async () => {
    await openView(page, 'fleet');
    await page.getByText('5 of 5').waitFor();
    await page
      .getByRole('row', { name: /^trinity/ })
      .getByText('closed', { exact: true })
      .waitFor();
    await page.getByLabel('Required MCP servers').fill('github');
    await page.getByRole('button', { name: 'Ask the router' }).click();
    await page.getByText('It would be blocked').waitFor();
    await page.getByLabel('Required MCP servers').fill('memory');
    await page.getByRole('button', { name: 'Ask the router' }).click();
    await page.getByText(/It would go to \w+ now/).waitFor();

    await openView(page, 'blocked');
    await page.getByText('5 of 12 tasks').waitFor();
    await page.getByText('mcp: 1 task had no other unmet requirement').waitFor();
    await row('gpu').waitFor();

    await openView(page, 'spending');
    for (const profile of ['switch', 'neo', 'morpheus', 'trinity'])
      await page.getByRole('rowheader', { name: profile, exact: true }).first().waitFor();
    await page.getByRole('link', { name: 'both-halves' }).waitFor();
    await page.getByRole('combobox', { name: /^By/ }).selectOption('tree');
    await page.getByRole('rowheader', { name: 'both-halves', exact: true }).waitFor();

    await openView(page, 'trader');
    await page.getByText('sound', { exact: true }).waitFor();
    for (const outcome of ['applied', 'rejected'])
      await page.locator(`.outcome-${outcome}`).first().waitFor();
    // The token that switch has judged is the operator's at the trader too.
    await page.getByRole('figure', { name: 'Price with fills and decisions' }).waitFor();
  });

  await t.test('axe-core finds nothing in any of them, light and dark', async () => {
    const tasks = ['both-halves', 'triage-issues', 'which-region'].map(
      (name) => `tasks/switch/${ids.get(name)}`,
    );
    const views = ['tasks', 'fleet', 'blocked', 'spending', 'trader', 'send'];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const path of [...views, ...tasks]) {
        await openView(page, path);
        assert.deepEqual(await accessibilityFaults(page), [], `${path} ${colorScheme}`);
      }
    }
  });

  await t.test('a question is answered, and a task is canceled, from its page', async () => {
    await openView(page, `tasks/switch/${ids.get('which-region')}`);
    await page.getByLabel('Answer').fill('eu-west-1');
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.locator('.task-head .state-done').waitFor();
    await openView(page, `tasks/switch/${ids.get('nightly-build')}`);
    await page.getByRole('button', { name: 'Cancel the task' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the task' }).click();
    await page.locator('.task-head .state-canceled').waitFor();
  });

  await t.test('doctor finds nothing, ps shows it, and a rebuilt read model has every task', async () => {
    const doctor = await cli('doctor', '--profile', 'console', '--json');
    assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr);
    const { findings } = JSON.parse(doctor.stdout);
    const checks = findings.map(({ subject, check, state }: Record<string, string>) =>
      [subject, check, state].join(' '),
    );
    assert.deepEqual(checks, [
      ...['configuration files ok', 'configuration keys ok'],
      ...['nats stream FLEET ok', 'nats stream FLEET_ANNOUNCE ok', 'nats stream FLEET_AUDIT ok'],
      ...fleet.plan.members.map(({ name }) => `${name} address ok`),
      'console ready ok',
    ]);
    assert.match((await cli('ps')).stdout, /^console .* ready /m);
    assert.match((await cli('console', 'rebuild')).stdout, /it reaches back to \d{4}-/);
    await openView(page, 'tasks');
    await tab('All 14');
  });

  await t.test('the page says that NATS is away, and goes on when it is back', async () => {
    await openView(page, 'tasks');
    await fleet.kill('nats');
    await page.locator('[data-status=bus-away]').waitFor();
    await tab('All 14');
    const sent = dispatch({ taskId: 'while-away', brief: runbook('away.md', 'Away.', 'cat away.md') });
    const { body } = await call(fleet.target('switch'), 'SendMessage', message(sent));
    assert.equal(body.result?.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
    await fleet.up();
    await page.locator('[data-status=live]').waitFor();
    await row('while-away').getByText('done', { exact: true }).waitFor();
  });

  await t.test('a profile that dies and comes back is told of without a reload', async () => {
    await openView(page, 'fleet');
    await fleet.kill('neo');
    await fleet.up();
    const routing = { target: 'neo' };
    const brief = runbook('back.md', 'Back.', 'cat back.md');
    const sent = dispatch({ taskId: 'after-restart', brief, routing });
    const { body } = await call(fleet.target('switch'), 'SendMessage', message(sent));
    assert.equal(body.result?.task.status.state, 'TASK_STATE_COMPLETED', JSON.stringify(body));
    await page.getByText('5 of 5').waitFor();
    await page.getByRole('row', { name: /^neo/ }).getByText('ready', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await row('after-restart').getByText('done', { exact: true }).waitFor();
  });

  await t.test('the session outlives the console, which forgets the token', async () => {
    await openView(page, 'tasks');
    await fleet.kill('console');
    await page.locator('[data-status=console-away]').waitFor();
    await tab('All 16');
    const sent = await cli('send', 'Again.', '--to', 'neo', '-o', 'json');
    assert.equal(JSON.parse(sent.stdout).state, 'completed', 'the fleet needs no console');
    const away = await cli('console');
    assert.match(away.stderr, /console does not answer at .*: connection refused.*\nhint: make ps shows/);
    await fleet.up();
    await page.locator('[data-status=live]').waitFor();
    await openView(page, `tasks/switch/${ids.get('release-notes')}`);
    await page.getByRole('heading', { name: 'release-notes' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Show them with my token' }).waitFor();
  });

  assert.doesNotMatch(fleet.log('console'), /permission|Permissions Violation/i);
  // What the browser says of requests that found no console is no fault of the page.
  assert.deepEqual(
    faults.filter((fault) => !fault.startsWith('Failed to load resource: net::ERR_')),
    [],
  );
});
