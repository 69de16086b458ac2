import { testStoreCrashes } from './testing/crash-sweep.ts';

testStoreCrashes('one');
