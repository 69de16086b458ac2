import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeBrowser, needsChromium, openPage } from '../../testing/web/browser.ts';
import { statusAt } from '../../testing/web/stub-console.ts';

after(closeBrowser);

test(
  'the header says whether the view is live, and a sentence says what to do when it is not',
  needsChromium,
  async (t) => {
    const { page, stub, faults } = await openPage(t);
    const badge = page.locator('[data-status]');
    const shows = (kind: string, text: RegExp) =>
      page.locator(`[data-status=${kind}]`).getByText(text).waitFor();
    await shows('live', /^Live$/);
    assert.equal(await page.locator('[data-notice]').count(), 0);

    const now = Date.now();
    const old = statusAt(now - 41_000);
    stub.state.status = old;
    stub.pushStatus();
    await shows('stale', /^No events for 4\d s$/);
    await page.getByText('States may be out of date. "fleet doctor" says what is wrong.').waitFor();

    stub.state.status = { ...old, bus: { connected: false, reason: 'connection refused' }, behind: null };
    stub.pushStatus();
    await shows('bus-away', /^NATS away$/);
    await page.getByText('no connection to NATS (connection refused)').waitFor();
    await page.getByRole('status').getByText('The console has lost NATS.').waitFor({ state: 'attached' });

    stub.state.status = { ...statusAt(Date.now()), behind: 12_000 };
    stub.pushStatus();
    await page.getByText('still reading 12,000 events').waitFor();

    stub.state.status = statusAt(Date.now());
    stub.pushStatus();
    await shows('live', /^Live$/);
    assert.equal(await badge.count(), 1);
    assert.equal(faults.join('\n'), '');
  },
);

test(
  'a console that goes away and comes back leaves the view, and continues it',
  needsChromium,
  async (t) => {
    const { page, stub } = await openPage(t);
    await page.getByText('12 tasks').waitFor();
    await stub.stop();
    await page.locator('[data-status=console-away]').waitFor();
    await page.getByText('The console does not answer.', { exact: false }).first().waitFor();
    assert.equal(await page.locator('tbody tr').count(), 12);
    stub.state.tasks = stub.state.tasks.slice(0, 5);
    stub.state.status = statusAt(Date.now());
    await stub.start();
    await page.locator('[data-status=live]').waitFor();
    await page.getByText('5 tasks').waitFor();
  },
);

test(
  'a read model that fails is said beside what was read last, and read again without a click',
  needsChromium,
  async (t) => {
    const { page, stub } = await openPage(t, {
      prepare: ({ state }) => Object.assign(state, { failWith: null }),
    });
    await page.getByText('12 tasks').waitFor();
    stub.state.failWith = 503;
    stub.changed({ views: ['tasks'] });
    const alert = page.getByRole('alert');
    await alert.getByText('the read model cannot be read').waitFor();
    await alert.getByText('what the console answered last').waitFor();
    assert.equal(await page.locator('tbody tr').count(), 12);
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    stub.state.failWith = null;
    await alert.waitFor({ state: 'detached' });
  },
);

test(
  'the page says how far back the console reaches, and what it could not read',
  needsChromium,
  async (t) => {
    const { page, stub } = await openPage(t);
    const footer = page.getByRole('contentinfo');
    await footer.getByText('Knows events since').waitFor();
    assert.doesNotMatch((await footer.textContent()) ?? '', /could not be read|expired/);
    stub.state.status = { ...statusAt(Date.now()), skipped: 3, missed_at: new Date().toISOString() };
    stub.pushStatus();
    await footer.getByText('3 messages could not be read as events.').waitFor();
    await footer.getByText('Events had expired on NATS before they were read').waitFor();
  },
);

test('a session that ends while the page is open says how to open another one', needsChromium, async (t) => {
  const { page, stub } = await openPage(t);
  await page.getByText('12 tasks').waitFor();
  stub.state.signedIn = false;
  stub.changed({ views: ['tasks'] });
  await page.getByText('You are not signed in.').waitFor();
});
