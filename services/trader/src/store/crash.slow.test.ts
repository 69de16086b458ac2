import { testStoreCrashes } from './testing/crash-sweep.ts';

testStoreCrashes(1);
