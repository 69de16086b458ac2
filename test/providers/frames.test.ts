import { playTopic } from './play.ts';

playTopic('frames');
