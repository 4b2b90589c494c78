import { testRandomServices } from './random-worlds.ts'

testRandomServices(20)
