import { testRandomServices } from './random-services.ts'

testRandomServices(2)
