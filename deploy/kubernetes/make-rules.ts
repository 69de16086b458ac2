import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const RULES = join(import.meta.dirname, '../prometheus/rules');
const FILE = join(import.meta.dirname, 'components/monitoring/prometheus-rules.yaml');

/** The rules of deploy/prometheus/rules as manifests of the Prometheus operator. */
export function renderRules(): string {
  const files = readdirSync(RULES).filter((file) => file.endsWith('.rules.yml'));
  const manifests = files.sort().map((file) => {
    const { groups } = parse(readFileSync(join(RULES, file), 'utf8')) as { groups: unknown };
    return stringify(
      {
        apiVersion: 'monitoring.coreos.com/v1',
        kind: 'PrometheusRule',
        metadata: { name: file.replace('.rules.yml', '') },
        spec: { groups },
      },
      { lineWidth: 0 },
    );
  });
  return `# Made by deploy/kubernetes/make-rules.ts from deploy/prometheus/rules: change those.\n${manifests.join('---\n')}`;
}

if (import.meta.main) writeFileSync(FILE, renderRules());
