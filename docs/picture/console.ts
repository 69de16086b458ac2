import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { launchChromium } from '../../services/console/src/web/testing/chromium.ts';

/**
 * Takes a picture of every view of a running console, light and dark, into docs/images: `console-<view>-<theme>.png`.
 *
 *   node docs/picture/console.ts <login link> --task flight-1
 *
 * The argument is a login link, which is good once. With a token in FLEET_TOKEN the pictures also show what a person sees
 * who has it: briefs, results and circuits.
 */
const SIZE = { width: 1280, height: 800 };
const THEMES = ['light', 'dark'] as const;
const VIEWS = ['tasks', 'fleet', 'blocked', 'spending', 'trader', 'send'];
/** A view shows its data within this time. */
const READY_MS = 20_000;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string', default: resolve(import.meta.dirname, '../images') },
    // The task whose page is shown, by its task_id; default the newest one.
    task: { type: 'string', default: '' },
  },
});
const [link] = positionals;
if (link === undefined || !URL.canParse(link)) {
  process.stderr.write(
    'usage: node docs/picture/console.ts <login link> [--out <folder>] [--task <task_id>]\n',
  );
  process.exit(2);
}
mkdirSync(values.out, { recursive: true });

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
  const token = process.env['FLEET_TOKEN'];
  if (token !== undefined) {
    await page.getByRole('button', { name: 'Use a token' }).click();
    await page.getByRole('textbox', { name: 'Token' }).fill(token);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  const tasks = page.locator('a[data-row]', { hasText: values.task });
  const task = (await tasks.count()) > 0 ? await tasks.first().getAttribute('href') : null;
  const places = VIEWS.map((view) => [view, `#/${view}`]).concat(task === null ? [] : [['task', task]]);
  for (const [view = '', hash = ''] of places) {
    await page.goto(new URL(`/${hash}`, link).href);
    await ready();
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
