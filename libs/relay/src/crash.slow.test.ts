import { testRelayCrashes } from './testing/crash-sweep.ts';

testRelayCrashes(1);
