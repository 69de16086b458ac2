import { writeFileSync } from 'node:fs';
import { assembleFilter } from './assemble.ts';
import { filterFile } from './filter.ts';
import { type Arch, AUDIT_ARCH } from './system-calls.ts';

// Writes the filters from the rules: node libs/agent/workspace/src/confinement/seccomp/generate.ts
for (const arch of Object.keys(AUDIT_ARCH) as Arch[]) writeFileSync(filterFile(arch), assembleFilter(arch));
