import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { buildPackage } from '../../../deploy/package/build.ts';
import { median } from '../frame/quantile.ts';
import { alternate, ratios, warmUp } from '../frame/rounds.ts';
import type { Section } from '../frame/section.ts';
import { format } from '../frame/table.ts';

const Cost = z.object({ cpuMs: z.number(), rssMb: z.number() });
type Cost = z.infer<typeof Cost>;

const CONTENDERS = {
  sources: 'the sources, whose types are stripped',
  bundle: 'the bundle of the package',
};

/** Importing what a profile runs, from the sources and from the package, each with its compile cache filled by an earlier start. */
export const startSection: Section = {
  name: 'start',
  about: 'import of what a profile runs, from the sources and from the package',
  isDefault: true,
  async run({ dir, plan, rounds }) {
    const out = join(dir, 'package');
    await buildPackage(plan.root, out, {});
    const importing = (name: keyof typeof CONTENDERS, file: string) =>
      [name, () => costOf(file, join(dir, `compiled-${name}`))] as const;
    const contenders = [
      importing('sources', join(plan.root, 'services/profile/src/start.ts')),
      importing('bundle', join(out, 'dist/start-profile.js')),
    ];
    await warmUp(contenders);
    const of = await alternate(rounds, contenders);
    const values = (name: string, key: keyof Cost): number[] => of(name).map((cost) => cost[key]);
    const against = (key: keyof Cost): number[] => ratios(values('bundle', key), values('sources', key));
    return {
      tables: [
        {
          title: 'Start: import of what a profile runs, with a warm compile cache; ratios to the sources',
          head: ['', 'CPU ms', 'ratio', 'RSS MB', 'ratio'],
          rows: Object.entries(CONTENDERS).map(([name, title]) => [
            title,
            format(median(values(name, 'cpuMs'))),
            name === 'bundle' ? format(median(against('cpuMs'))) : '',
            format(median(values(name, 'rssMb'))),
            name === 'bundle' ? format(median(against('rssMb'))) : '',
          ]),
        },
      ],
      figures: [
        { key: 'start.cpu_to_sources', unit: 'ratio', better: 'lower', values: against('cpuMs') },
        { key: 'start.rss_to_sources', unit: 'ratio', better: 'lower', values: against('rssMb') },
      ],
    };
  },
};

/** The processor time of importing a module in a process of its own, of all its threads, and the memory of that process afterwards. */
function costOf(file: string, cache: string): Cost {
  const code = `
    const before = process.cpuUsage();
    await import(${JSON.stringify(pathToFileURL(file).href)});
    const { user, system } = process.cpuUsage(before);
    process.stdout.write(JSON.stringify({ cpuMs: (user + system) / 1e3, rssMb: process.memoryUsage.rss() / 1e6 }));`;
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
    env,
    encoding: 'utf8',
  });
  return Cost.parse(JSON.parse(output));
}
