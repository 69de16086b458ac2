import { testConsoleCrashes } from '../testing/crash-sweep.ts';

testConsoleCrashes(1);
