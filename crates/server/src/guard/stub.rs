//! TEMP
use adyton_auth::{Realm, Wrong};
pub struct Digests;
impl Digests {
    pub fn read(_: &str) -> Result<Self, Vec<Wrong>> {
        Err(Vec::new())
    }
}
pub struct Nonces;
impl Nonces {
    pub fn new(_: [u8; 32]) -> Self {
        Nonces
    }
    pub fn challenges(&mut self, _: &Realm, _: u64, _: bool) -> Vec<Vec<u8>> {
        Vec::new()
    }
}
