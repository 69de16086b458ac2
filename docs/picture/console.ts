import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { keyPaths, planFleet } from '@hermes-fleet/cli';
import { launchChromium } from '../../services/console/testing/web/chromium.ts';
import { sendMixedTraffic } from '../../test/support/mixed-traffic.ts';

/**
 * Takes a picture of every view of the console of a fleet of plain processes, light and dark, into docs/images:
 * `console-<view>-<theme>.png`. A fleet that is new gets traffic of every kind first, as the operator.
 *
 *   make up && node docs/picture/console.ts
 */
const ROOT = resolve(import.meta.dirname, '../..');
const SIZE = { width: 1280, height: 800 };
const THEMES = ['light', 'dark'] as const;
const VIEWS = {
  tasks: '#/tasks',
  fleet: '#/fleet',
  blocked: '#/blocked?since=1h',
  spending: '#/spending?since=1h',
  trader: '#/trader?since=1h',
  send: '#/send',
};
/** A view shows its data within this time. */
const READY_MS = 20_000;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'docs/images') },
    dir: { type: 'string', default: join(ROOT, '.fleet') },
    // The task whose page is shown, by its task_id.
    task: { type: 'string', default: 'both-halves' },
  },
});
mkdirSync(values.out, { recursive: true });
const plan = planFleet({ root: ROOT, dir: values.dir });
const token = readFileSync(keyPaths(plan.keysDir).operatorToken, 'utf8').trim();
const made = spawnSync(join(ROOT, 'fleet'), ['console', '--dir', values.dir], { encoding: 'utf8' });
const link = /http\S+/.exec(made.stdout)?.[0];
if (link === undefined) throw new Error(`there is no link to the console: ${made.stderr}`);

const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: SIZE });
  page.setDefaultTimeout(READY_MS);
  await page.goto(link);
  const ready = async (): Promise<void> => {
    await page.locator('main h1').waitFor();
    await page.locator('.skeleton').waitFor({ state: 'detached' });
  };
  await ready();
  if ((await page.locator('a[data-row]').count()) === 0)
    await sendMixedTraffic((profile) => ({
      url: plan.members.find(({ name }) => name === profile)?.url ?? '',
      token,
    }));
  await page.getByRole('button', { name: 'Use a token' }).click();
  await page.getByRole('dialog').getByLabel('Token').fill(token);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const task = await page.getByRole('link', { name: values.task }).getAttribute('href');
  for (const [view, hash] of Object.entries({ ...VIEWS, task: task ?? '#/tasks' })) {
    await page.goto(new URL(`/${hash}`, link).href);
    await ready();
    if (view === 'task') await page.getByRole('group', { name: 'Brief' }).waitFor();
    if (view === 'trader') await page.getByRole('figure', { name: 'Drawdown' }).waitFor();
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const path = join(values.out, `console-${view}-${colorScheme}.png`);
      await page.screenshot({ path });
      process.stdout.write(`${path}\n`);
    }
  }
} finally {
  await browser.close();
}
