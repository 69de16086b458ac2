import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  accessibilityFaults,
  closeBrowser,
  needsChromium,
  openPage,
  overflow,
} from '../../testing/web/browser.ts';
import { idOf } from '../../testing/web/tasks-fixture.ts';

after(closeBrowser);

/** Every view, and something that only it shows. */
const VIEWS: readonly (readonly [path: string, text: string])[] = [
  ['tasks', 'Tokens of budget'],
  [`tasks/switch/${idOf(5)}`, 'Which region?'],
  ['fleet', 'Who would get a task now?'],
  ['blocked', 'What would have unblocked the most'],
  ['spending', 'Tasks that spent the most'],
  ['trader', 'Last fills'],
  ['send', 'Where would it go?'],
];

for (const theme of ['light', 'dark'] as const)
  for (const width of [1280, 360])
    test(
      `every view passes axe-core, ${theme} at ${width} px, without a fault or a bar to scroll sideways`,
      needsChromium,
      async (t) => {
        const { page, faults } = await openPage(t, {
          theme,
          width,
          prepare: ({ state }) => Object.assign(state, { caller: 'operator' }),
        });
        for (const [path, text] of VIEWS) {
          await page.evaluate((hash) => location.assign(hash), `#/${path}`);
          await page.getByText(text).first().waitFor();
          assert.deepEqual(await accessibilityFaults(page), [], path);
          assert.equal(await overflow(page), 0, path);
        }
        await page.keyboard.press('?');
        await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
        assert.deepEqual(await accessibilityFaults(page), []);
        assert.equal(faults.join('\n'), '');
      },
    );

test('the page is used by the keyboard alone', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: '/#/tasks' });
  await page.getByText('12 tasks').waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');

  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');
  assert.match(page.url(), /#\/tasks$/);

  await page.keyboard.press('/');
  await page.keyboard.type('haiku');
  await page.getByText('1 task', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  assert.equal(await focused(), 'haiku');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'haiku' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');

  await page.keyboard.press('2');
  await page.getByRole('heading', { name: 'Fleet', exact: true }).waitFor();
  await page.keyboard.press('1');
  await page.getByText('12 tasks').waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 'nightly-dependency-review');
  await page.keyboard.press('k');
  assert.equal(await focused(), 'refactor-auth-module');
  const outline = await page.evaluate(
    () => getComputedStyle(document.activeElement ?? document.body).outlineStyle,
  );
  assert.equal(outline, 'solid');

  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard' });
  await help.waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  assert.equal(await focused(), 'refactor-auth-module');
});

test('ages and figures that change move nothing', needsChromium, async (t) => {
  const { page, stub } = await openPage(t, { at: '/#/tasks' });
  await page.getByText('12 tasks').waitFor();
  const places = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('main th, main td')].map((cell) => {
        const { x, y, width, height } = cell.getBoundingClientRect();
        return [x, y, width, height].map(Math.round).join();
      }),
    );
  const before = await places();
  stub.state.tasks = stub.state.tasks.map((task) => ({
    ...task,
    state: 'running',
    tool: 'a_tool_with_a_name_that_is_longer_than_its_column',
    peer: 'morpheus',
    spent_tokens: 1_234_567_890,
    submitted_at: new Date(Date.now() - 86_400_000 * 12).toISOString(),
  }));
  stub.changed({ views: ['tasks'] });
  await page.getByText('1.2B').first().waitFor();
  assert.deepEqual(await places(), before);
});

test('the table beside a chart has the same figures', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: '/#/blocked' });
  await page.getByText('As a table').click();
  const table = page.getByRole('table', { name: 'Blocked share by reason, in percent' });
  assert.equal(await table.locator('tbody tr').count(), 24);
  assert.deepEqual(await table.locator('thead th').allTextContents(), ['From', 'mcp', 'tier', 'budget']);
  assert.match((await table.locator('tbody td').first().textContent()) ?? '', /^\d+(\.\d)?%$/);
  assert.equal(await page.locator('.uplot canvas').count(), 1);
});

test('a legend has the figures of the bar under the pointer', needsChromium, async (t) => {
  const { page } = await openPage(t, { at: '/#/blocked' });
  const chart = page.locator('.chart .u-over');
  const box = (await chart.boundingBox()) ?? assert.fail('there is no chart');
  const legend = page.locator('.legend');
  const atRest = await page.locator('main').boundingBox();
  assert.deepEqual(await legend.locator('.num').allTextContents(), ['', '', '', '']);
  // 24 bars and the whole of the last one.
  await page.mouse.move(box.x + (box.width * 2.5) / 24, box.y + 20);
  await page.locator('.legend li.num', { hasText: ':' }).waitFor();
  const shown = await legend.locator('.num').allTextContents();
  const row = page
    .getByRole('table', { name: 'Blocked share by reason, in percent' })
    .locator('tbody tr')
    .nth(2);
  await page.getByText('As a table').click();
  const [from = '', ...figures] = await row.locator('th, td').allTextContents();
  assert.deepEqual(shown, [...figures, from]);
  await page.getByText('As a table').click();
  await page.mouse.move(box.x + 5, box.y + 20);
  assert.deepEqual(await page.locator('main').boundingBox(), atRest);
  await page.mouse.move(0, 0);
  await page.locator('.legend li.num', { hasText: ':' }).waitFor({ state: 'detached' });
});
