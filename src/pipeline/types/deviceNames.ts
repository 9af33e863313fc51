/** Devices that can be held either way, by the names that Playwright gives them. */
const held = `
Blackberry PlayBook, BlackBerry Z30, Galaxy Note 3, Galaxy Note II, Galaxy S III, Galaxy S5, Galaxy S8,
Galaxy S9+, Galaxy S24, Galaxy A55, Galaxy Tab S4, Galaxy Tab S9, Galaxy Z Fold 6,
Galaxy Z Fold 6 Cover, Galaxy Z Fold 7, Galaxy Z Fold 7 Cover, Galaxy Z Flip 6, Galaxy Z Flip 6 Cover,
Galaxy Z Flip 7, Galaxy Z Flip 7 Cover, iPad (gen 5), iPad (gen 6), iPad (gen 7), iPad (gen 11),
iPad Mini, iPad Pro 11, iPhone 6, iPhone 6 Plus, iPhone 7, iPhone 7 Plus, iPhone 8, iPhone 8 Plus,
iPhone SE, iPhone SE (3rd gen), iPhone X, iPhone XR, iPhone 11, iPhone 11 Pro, iPhone 11 Pro Max,
iPhone 12, iPhone 12 Pro, iPhone 12 Pro Max, iPhone 12 Mini, iPhone 13, iPhone 13 Pro,
iPhone 13 Pro Max, iPhone 13 Mini, iPhone 14, iPhone 14 Plus, iPhone 14 Pro, iPhone 14 Pro Max,
iPhone 15, iPhone 15 Plus, iPhone 15 Pro, iPhone 15 Pro Max, iPhone 16, iPhone 16 Plus, iPhone 16 Pro,
iPhone 16 Pro Max, iPhone 16e, iPhone 17, iPhone Air, iPhone 17 Pro, iPhone 17 Pro Max, iPhone 17e,
Kindle Fire HDX, LG Optimus L70, Microsoft Lumia 550, Microsoft Lumia 950, Nexus 10, Nexus 4, Nexus 5,
Nexus 5X, Nexus 6, Nexus 6P, Nexus 7, Nokia Lumia 520, Nokia N9, Pixel 2, Pixel 2 XL, Pixel 3, Pixel 4,
Pixel 4a (5G), Pixel 5, Pixel 6, Pixel 6 Pro, Pixel 6a, Pixel 7, Pixel 7 Pro, Pixel 7a, Pixel 8,
Pixel 8 Pro, Pixel 8a, Pixel 9, Pixel 9 Pro, Pixel 9 Pro XL, Pixel 10, Pixel 10 Pro, Pixel 10 Pro XL,
Moto G4
`;

const standing = [
  "Desktop Chrome HiDPI",
  "Desktop Edge HiDPI",
  "Desktop Firefox HiDPI",
  "Desktop Safari",
  "Desktop Chrome",
  "Desktop Edge",
  "Desktop Firefox",
];

/** The devices that a browser resource can stand for: `iPhone 15`, `iPhone 15 landscape`. */
export const deviceNames: readonly string[] = [
  ...held
    .trim()
    .split(/,\s+/)
    .flatMap((name) => [name, `${name} landscape`]),
  ...standing,
];
