import { join, resolve } from 'node:path';
import { readMembers, servicesOf } from '@hermes-fleet/cli';

const SHIPPED = readMembers(join(resolve(import.meta.dirname, '../..'), 'deploy'));

/** The profiles of the shipped fleet, switch first. */
export const SHIPPED_PROFILES: readonly string[] = SHIPPED.profiles.map(({ name }) => name);
/** The profiles of the shipped fleet and its trader. */
export const SHIPPED_SERVICES = servicesOf(SHIPPED);
