//! Functions of floats that give the same bits on every platform (crate `libm`).
//!
//! `+ - * /` and `sqrt` are exact everywhere; the rest of the standard library's are not, so they are
//! lint errors outside this file.

/// Cube root.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}
/// `x` to the power `y`.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}
/// e to the power `x`.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}
/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}
/// Complementary error function.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}
/// Gamma function.
pub fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}
/// Sine.
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}
/// Cosine.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}
/// The angle of the point (x, y), from −π to π.
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}
