import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestConsole } from '../../testing/console.ts';
import { eventMaker, publish } from '../../testing/events.ts';
import {
  closeBrowser,
  needsChromium,
  openBrowser,
  openWhole,
  watchFaults,
} from '../../testing/web/browser.ts';
import { CONTENT_SECURITY_POLICY, readStaticFiles } from './static-files.ts';

after(closeBrowser);

const web = { files: readStaticFiles(), policy: CONTENT_SECURITY_POLICY };
const root = { root_id: 'flight-1', root_caller: 'operator' };

test(
  'a link opens the pages of a real console, which follow the bus while it comes and goes',
  needsChromium,
  async (t) => {
    const fleet = await startTestConsole(t, { web });
    const context = await (await openBrowser()).newContext();
    t.after(() => context.close());
    const page = await context.newPage();
    const faults = watchFaults(page);

    const link = `${fleet.url}/login?code=${await fleet.newCode()}`;
    await openWhole(page, link);
    await page.getByText('No task yet.').waitFor();
    assert.equal(new URL(page.url()).pathname, '/');

    const atSwitch = eventMaker('switch', 'store-1', Date.now() - 4_000);
    const flight = { id: 'S1', taskId: 'flight-1' };
    await publish(fleet.nats.url, [
      atSwitch('submitted', flight, { ...root, budget_tokens: 5000, priority: 'high' }),
      atSwitch('started', flight, { ...root, model: 'small', model_tier: 'haiku', resumes: 0 }),
      atSwitch('progress', flight, {
        ...root,
        step: 1,
        spent_tokens: 30,
        tool: 'terminal',
        phase: 'started',
      }),
    ]);
    const row = page.getByRole('row', { name: /flight-1/ });
    await row.getByText('running').waitFor();
    await row.getByText('30 / 5,000').waitFor();
    await row.getByText('high').waitFor();
    await page.locator('[data-status=live]').waitFor();

    await page.getByRole('link', { name: 'flight-1' }).click();
    await page.getByRole('heading', { name: 'flight-1' }).waitFor();
    await fleet.nats.kill();
    await page.locator('[data-status=bus-away]').waitFor();
    await fleet.nats.restart();
    await publish(fleet.nats.url, [
      atSwitch('done', flight, {
        ...root,
        tokens_spent: 70,
        executed_by: 'switch',
        model: 'small',
        model_tier: 'haiku',
      }),
    ]);
    await page.locator('.task-head .state-done').waitFor();
    await page.locator('[data-status=live]').waitFor();

    for (const name of ['Fleet', 'Blocked', 'Spending', 'Trader', 'Send']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
      await page.locator('.skeleton').waitFor({ state: 'detached' });
      assert.equal(await page.getByRole('alert').filter({ hasText: /\S/ }).count(), 0, name);
    }
    assert.equal(faults.join('\n'), '');
  },
);

test('a link that was used says how to get another one', needsChromium, async (t) => {
  const fleet = await startTestConsole(t, { web });
  const context = await (await openBrowser()).newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const link = `${fleet.url}/login?code=${await fleet.newCode()}`;
  await openWhole(page, link);
  await page.getByText('No task yet.').waitFor();
  await page.goto(link);
  await page.getByText('fleet console').first().waitFor();
});
